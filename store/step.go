package store

import (
	"context"
	"fmt"
	"time"
)

// Step is a row of steps: an after-merge step that a host completed in an hour. Seq is the last change that it has handled.
type Step struct {
	Host       string
	Hour       time.Time
	Name       string
	FinishedAt time.Time
	Seq        int64
}

// LastStep returns the newest completion of a step by a host; zero if none.
func (s *Store) LastStep(ctx context.Context, host, name string) (step Step, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.query(`
			SELECT hour, finished_at, seq
			FROM steps
			WHERE host = ?
			  AND name = ?
			ORDER BY hour DESC
			LIMIT 1`,
			func(r row) error {
				step = Step{host, r.time(0), name, r.time(1), r.int(2)}
				return nil
			}, host, name)
	})
	if err != nil {
		return Step{}, fmt.Errorf("read step %s: %w", name, err)
	}
	return step, nil
}

// FinishStep records one (last wins).
func (s *Store) FinishStep(ctx context.Context, st Step) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			INSERT INTO steps (host, name, hour, finished_at, seq)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (host, name, hour) DO UPDATE SET finished_at = excluded.finished_at, seq = excluded.seq`,
			st.Host, st.Name, stamp(st.Hour), stamp(st.FinishedAt), st.Seq)
	})
	if err != nil {
		return fmt.Errorf("record step %s: %w", st.Name, err)
	}
	return nil
}

// Optimize runs PRAGMA optimize and a passive checkpoint.
func (s *Store) Optimize(ctx context.Context) error {
	err := s.withWriter(ctx, func(t *tx) error {
		for _, pragma := range []string{"PRAGMA optimize", "PRAGMA wal_checkpoint(PASSIVE)"} {
			err := s.patience.retry(ctx, func() error {
				return t.query(pragma, func(row) error { return nil })
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("optimize the database: %w", err)
	}
	return nil
}
