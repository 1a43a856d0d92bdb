package store

import (
	"context"
	"fmt"
)

// ChangeCounts counts changes above seq by kind, and gives the highest seq ever given. It takes the lock of those who write, to see what
// they would: others are told of these numbers, and of the epoch that the store is held to.
func (s *Store) ChangeCounts(ctx context.Context, after int64) (counts map[string]int, highest int64, err error) {
	err = s.update(ctx, func(t *tx) error {
		counts = map[string]int{}
		err := t.query("SELECT kind, count(*) FROM changes WHERE seq > ? GROUP BY kind", func(r row) error {
			counts[r.text(0)] = int(r.int(1))
			return nil
		}, after)
		if err != nil {
			return err
		}
		highest, err = t.lastID("changes")
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("count changes: %w", err)
	}
	return counts, highest, nil
}
