package store

import (
	"context"
	"fmt"
	"time"
)

// Step is a row of steps: an after-merge step of a host in an hour. Seq is the last change that it has handled.
type Step struct {
	Host       string
	Hour       time.Time
	Name       string
	FinishedAt time.Time // zero: not done yet
	Seq        int64
	Error      string // why it failed when it was tried last; "" if it did not
}

// StepDone tells whether a host has completed a step in an hour.
func (s *Store) StepDone(ctx context.Context, host string, hour time.Time, name string) (done bool, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.query("SELECT EXISTS (SELECT 1 FROM steps WHERE host = ? AND name = ? AND hour = ? AND error IS NULL)", func(r row) error {
			done = r.bool(0)
			return nil
		}, host, name, stamp(hour))
	})
	if err != nil {
		return false, fmt.Errorf("read step %s: %w", name, err)
	}
	return done, nil
}

// StepSeq returns the highest change that a step of a host has ever handled; 0 if none. The highest, not the latest: a clock may
// have gone back.
func (s *Store) StepSeq(ctx context.Context, host, name string) (seq int64, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.query("SELECT coalesce(max(seq), 0) FROM steps WHERE host = ? AND name = ?", func(r row) error {
			seq = r.int(0)
			return nil
		}, host, name)
	})
	if err != nil {
		return 0, fmt.Errorf("read step %s: %w", name, err)
	}
	return seq, nil
}

// FinishStep records one (last wins).
func (s *Store) FinishStep(ctx context.Context, st Step) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			INSERT INTO steps (host, name, hour, finished_at, seq)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (host, name, hour) DO UPDATE
			SET finished_at = excluded.finished_at, seq = excluded.seq, error = NULL`,
			st.Host, st.Name, stamp(st.Hour), stamp(st.FinishedAt), st.Seq)
	})
	if err != nil {
		return fmt.Errorf("record step %s: %w", st.Name, err)
	}
	return nil
}

// FailStep records why a step failed; what it has done before stands.
func (s *Store) FailStep(ctx context.Context, st Step) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			INSERT INTO steps (host, name, hour, seq, error)
			VALUES (?, ?, ?, 0, ?)
			ON CONFLICT (host, name, hour) DO UPDATE SET error = excluded.error`,
			st.Host, st.Name, stamp(st.Hour), text(st.Error))
	})
	if err != nil {
		return fmt.Errorf("record step %s: %w", st.Name, err)
	}
	return nil
}

// FailedSteps gives the steps of a host that failed in the last hour in which they were tried, with the reason.
func (s *Store) FailedSteps(ctx context.Context, host string) (failed []Step, err error) {
	err = s.view(ctx, func(t *tx) error {
		failed = nil
		return t.query(`
			SELECT name, hour, error
			FROM steps s
			WHERE host = ?1
			  AND error IS NOT NULL
			  AND hour = (SELECT max(hour) FROM steps WHERE host = ?1 AND name = s.name)
			ORDER BY name`,
			func(r row) error {
				failed = append(failed, Step{Host: host, Hour: r.time(1), Name: r.text(0), Error: r.text(2)})
				return nil
			}, host)
	})
	if err != nil {
		return nil, fmt.Errorf("list failed steps: %w", err)
	}
	return failed, nil
}
