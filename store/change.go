package store

import (
	"context"
	"fmt"
)

// ChangeCounts counts changes above seq by kind, and gives the highest seq.
func (s *Store) ChangeCounts(ctx context.Context, after int64) (counts map[string]int, highest int64, err error) {
	err = s.view(ctx, func(t *tx) error {
		counts, highest = map[string]int{}, 0
		err := t.query("SELECT kind, count(*), max(seq) FROM changes WHERE seq > ? GROUP BY kind", func(r row) error {
			counts[r.text(0)] = int(r.int(1))
			highest = max(highest, r.int(2))
			return nil
		}, after)
		if err != nil || highest > 0 {
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
