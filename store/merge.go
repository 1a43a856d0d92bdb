package store

import (
	"context"
	"fmt"
	"time"
)

// Entry is one result on its way into the database.
type Entry struct {
	FeedID int64
	URL    string // the claim's
	Token  int64
	Result Result
}

// Merged is what a merge did.
type Merged struct {
	Applied int // results applied
	New     int // items
	Updated int
	Stopped int
	Failed  []FailedEntry // data that could not be stored: each counted as its feed's own failure (kind store)
}

// FailedEntry is a feed whose data could not be stored.
type FailedEntry struct {
	FeedID int64
	Err    error
}

// Merge applies results in one transaction, one savepoint a feed, and records the given closed snapshots as merged. run is the run
// that fetched them (0: none is recorded in fetches). It is idempotent. now stamps first_seen_at, changed_at and changes.at.
//
// Once it has begun, ctx does not cancel it. If SQLite undoes the whole transaction for a reason that lies in one feed's data,
// each result gets a transaction of its own, and only that feed's fails.
func (s *Store) Merge(ctx context.Context, run int64, entries []Entry, closed []Snapshot, now time.Time) (Merged, error) {
	m := merge{o: s.o, runID: run, now: now}
	err := s.update(ctx, func(t *tx) error { return m.all(t, entries, closed) })
	if isFeeds(err) && len(entries) > 0 {
		return s.mergeApart(ctx, run, entries, closed, now)
	}
	if err != nil {
		return Merged{}, fmt.Errorf("merge %d results: %w", len(entries), err)
	}
	s.o.Point("merge-after-commit")
	return m.Merged, nil
}

// mergeApart is Merge with one transaction a result.
func (s *Store) mergeApart(ctx context.Context, run int64, entries []Entry, closed []Snapshot, now time.Time) (Merged, error) {
	var total Merged
	for i := range entries {
		m := merge{o: s.o, runID: run, now: now}
		err := s.update(ctx, func(t *tx) error { return m.all(t, entries[i:i+1], nil) })
		if isFeeds(err) {
			m = merge{o: s.o, runID: run, now: now}
			cause := unnamed(err)
			err = s.update(ctx, func(t *tx) error { return m.fail(t, &entries[i], cause) })
		}
		if err != nil {
			return total, fmt.Errorf("merge feed %d: %w", entries[i].FeedID, err)
		}
		total.add(m.Merged)
	}
	m := merge{o: s.o, runID: run, now: now}
	if err := s.update(ctx, func(t *tx) error { return m.all(t, nil, closed) }); err != nil {
		return total, fmt.Errorf("record merged snapshots: %w", err)
	}
	return total, nil
}

func (m *Merged) add(o Merged) {
	m.Applied += o.Applied
	m.New += o.New
	m.Updated += o.Updated
	m.Stopped += o.Stopped
	m.Failed = append(m.Failed, o.Failed...)
}

// merge is one merging transaction.
type merge struct {
	Merged
	o        Options
	runID    int64
	now      time.Time
	lastItem int64 // highest items.id and changes.seq given, so that both are known before their rows are written
	lastSeq  int64
}

func (m *merge) all(t *tx, entries []Entry, closed []Snapshot) error {
	m.o.Point("merge-begin")
	if err := m.readCounters(t); err != nil {
		return err
	}
	for i := range entries {
		if i == len(entries)/2 {
			m.o.Point("merge-mid")
		}
		if err := m.entry(t, &entries[i]); err != nil {
			return fmt.Errorf("feed %d: %w", entries[i].FeedID, err)
		}
	}
	for _, c := range closed {
		if err := t.recordMerged(c); err != nil {
			return err
		}
	}
	m.o.Point("merge-before-commit")
	return nil
}

func (m *merge) readCounters(t *tx) (err error) {
	if m.lastItem, err = t.lastID("items"); err != nil {
		return err
	}
	m.lastSeq, err = t.lastID("changes")
	return err
}

// entry merges one result.
func (m *merge) entry(t *tx, e *Entry) error {
	switch e.Result.Outcome {
	case Deferred, Left:
		return nil
	case Unchanged:
		done, err := m.unchanged(t, e)
		if done || err != nil {
			return err
		}
	}
	before := *m
	if err := t.run("SAVEPOINT feed"); err != nil {
		return err
	}
	cause := m.apply(t, e)
	if cause == nil {
		return t.run("RELEASE feed")
	}
	if !isData(cause) || t.AutoCommit() {
		return cause
	}
	if err := t.run("ROLLBACK TO feed"); err != nil {
		return fmt.Errorf("%w; undo it: %w", cause, err)
	}
	*m = before
	if err := t.run("RELEASE feed"); err != nil {
		return fmt.Errorf("%w; undo it: %w", cause, err)
	}
	return m.fail(t, e, cause)
}

// unchanged applies the common case in one statement: nothing but the feed's row changes. It is not done if the result is stale
// or wants more than that.
func (m *merge) unchanged(t *tx, e *Entry) (done bool, err error) {
	r := &e.Result
	if r.Ranked || len(r.Items) > 0 || len(r.Document) > 0 || r.Feed.URL != e.URL || r.Feed.Status != "active" {
		return false, nil
	}
	n, err := m.writeFeed(t, e, &r.Feed)
	if n > 0 {
		m.Applied++
	}
	return n > 0, err
}
