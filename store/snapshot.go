package store

import (
	"context"
	"fmt"
	"time"
)

// Snapshot names a closed snapshot, for the merged table.
type Snapshot struct {
	Host     string
	Category int64
	Hour     time.Time
	ID       string
}

// recordMerged notes that all of a closed snapshot is in the database.
func (t *tx) recordMerged(c Snapshot) error {
	return t.run(`
		INSERT INTO merged (host, category_id, hour, snapshot)
		VALUES (?, ?, ?, ?)
		ON CONFLICT (host, category_id) DO UPDATE SET hour = excluded.hour, snapshot = excluded.snapshot`,
		c.Host, c.Category, stamp(c.Hour), c.ID)
}

// MergedSnapshots returns the id of the last merged snapshot of each category of a host.
func (s *Store) MergedSnapshots(ctx context.Context, host string) (merged map[int64]Snapshot, err error) {
	err = s.view(ctx, func(t *tx) error {
		merged = map[int64]Snapshot{}
		return t.query("SELECT category_id, hour, snapshot FROM merged WHERE host = ?", func(r row) error {
			merged[r.int(0)] = Snapshot{host, r.int(0), r.time(1), r.text(2)}
			return nil
		}, host)
	})
	if err != nil {
		return nil, fmt.Errorf("list merged snapshots: %w", err)
	}
	return merged, nil
}
