package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// Run is a row of runs. Outcome "" while it runs.
type Run struct {
	ID         int64
	Host       string
	Kind       string
	Hour       time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	Outcome    string // done, unfinished, outage, killed, crashed, error
	Reason     string // why the outcome is not done, on one line; "" if it is
	Counts     Counts
}

// Counts are what a run did.
type Counts struct {
	CategoriesDone, CategoriesSkipped, CategoriesLeft                       int
	Fetched, Changed, Unchanged, Failed, Throttled, Deferred, Left, Stopped int
	ItemsNew, ItemsUpdated                                                  int
	Requests, Answers                                                       int
	Bytes                                                                   int64
}

// countColumns are the columns of Counts, in the order of Counts.fields; bytes is the last.
var countColumns = []string{
	"categories_done",
	"categories_skipped",
	"categories_left",
	"feeds_fetched",
	"feeds_changed",
	"feeds_unchanged",
	"feeds_failed",
	"feeds_throttled",
	"feeds_deferred",
	"feeds_left",
	"feeds_stopped",
	"items_new",
	"items_updated",
	"requests",
	"answers",
	"bytes",
}

func (c *Counts) fields() []*int {
	return []*int{
		&c.CategoriesDone,
		&c.CategoriesSkipped,
		&c.CategoriesLeft,
		&c.Fetched,
		&c.Changed,
		&c.Unchanged,
		&c.Failed,
		&c.Throttled,
		&c.Deferred,
		&c.Left,
		&c.Stopped,
		&c.ItemsNew,
		&c.ItemsUpdated,
		&c.Requests,
		&c.Answers,
	}
}

// StartRun inserts a run and returns its id.
func (s *Store) StartRun(ctx context.Context, r Run) (id int64, err error) {
	err = s.update(ctx, func(t *tx) error {
		id, err = t.one(`
			INSERT INTO runs (host, kind, hour, started_at)
			VALUES (?, ?, ?, ?)
			RETURNING id`,
			r.Host, r.Kind, stamp(r.Hour), stamp(r.StartedAt))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("record the run's start: %w", err)
	}
	return id, nil
}

// FinishRun writes a run's end, outcome and counts. A run that is not there, though it began, was in a database that a backup has
// replaced: ErrReplaced.
func (s *Store) FinishRun(ctx context.Context, r Run) error {
	err := s.update(ctx, func(t *tx) error {
		args := []driver.Value{stamp(r.FinishedAt), text(r.Outcome), text(r.Reason)}
		for _, n := range r.Counts.fields() {
			args = append(args, int64(*n))
		}
		n, err := t.exec(`
			UPDATE runs
			SET finished_at = ?, outcome = ?, reason = ?, `+strings.Join(countColumns, " = ?, ")+` = ?
			WHERE id = ?`, append(args, r.Counts.Bytes, r.ID)...)
		if err == nil && n == 0 {
			return ErrReplaced
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record the end of run %d: %w", r.ID, err)
	}
	return nil
}

// LeftOpen tells whether a run of host has no outcome, or holds leases: what CrashRuns and ClearLeases end.
func (s *Store) LeftOpen(ctx context.Context, host string) (bool, error) {
	var open int64
	err := s.view(ctx, func(t *tx) (err error) {
		open, err = t.one(`
			SELECT EXISTS (SELECT 1 FROM runs WHERE host = ?1 AND outcome IS NULL)
			    OR EXISTS (SELECT 1 FROM feeds WHERE substr(lease_owner, 1, length(?2)) = ?2)`,
			host, host+"/")
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look for runs that have not ended: %w", err)
	}
	return open != 0, nil
}

// CrashRuns gives every run of host without outcome that started at since or later (zero: ever) the outcome "crashed" with this reason.
func (s *Store) CrashRuns(ctx context.Context, host string, since time.Time, reason string, now time.Time) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			UPDATE runs
			SET outcome = 'crashed', reason = ?, finished_at = ?
			WHERE host = ? AND outcome IS NULL AND started_at >= coalesce(?, '')`,
			text(reason), stamp(now), host, stamp(since))
	})
	if err != nil {
		return fmt.Errorf("record crashed runs: %w", err)
	}
	return nil
}

// Runs returns the last n runs of all hosts, newest first.
func (s *Store) Runs(ctx context.Context, n int) ([]Run, error) {
	return s.runs(ctx, "ORDER BY id DESC LIMIT ?", int64(n))
}

// RunsOf returns the runs of one host in one hour, newest first.
func (s *Store) RunsOf(ctx context.Context, host string, hour time.Time) ([]Run, error) {
	return s.runs(ctx, "WHERE host = ? AND hour = ? ORDER BY id DESC", host, stamp(hour))
}

func (s *Store) runs(ctx context.Context, which string, args ...driver.Value) (runs []Run, err error) {
	err = s.view(ctx, func(t *tx) error {
		runs = nil
		return t.query(`
			SELECT id, host, kind, hour, started_at, finished_at, outcome, reason, `+strings.Join(countColumns, ", ")+`
			FROM runs `+which,
			func(r row) error {
				runs = append(runs, scanRun(r))
				return nil
			}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return runs, nil
}

func scanRun(r row) Run {
	run := Run{
		ID:         r.int(0),
		Host:       r.text(1),
		Kind:       r.text(2),
		Hour:       r.time(3),
		StartedAt:  r.time(4),
		FinishedAt: r.time(5),
		Outcome:    r.text(6),
		Reason:     r.text(7),
	}
	for i, n := range run.Counts.fields() {
		*n = int(r.int(8 + i))
	}
	run.Counts.Bytes = r.int(7 + len(countColumns))
	return run
}
