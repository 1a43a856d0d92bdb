package store

import (
	"context"
	"fmt"
	"time"
)

// AnsweredSince tells whether any feed had an HTTP answer, whatever its status, at or after since.
func (s *Store) AnsweredSince(ctx context.Context, since time.Time) (answered bool, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.query("SELECT EXISTS (SELECT 1 FROM feeds WHERE last_fetched_at >= ?)", func(r row) error {
			answered = r.bool(0)
			return nil
		}, stamp(since))
	})
	if err != nil {
		return false, fmt.Errorf("look for answers: %w", err)
	}
	return answered, nil
}
