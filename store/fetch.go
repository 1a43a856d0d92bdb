package store

import (
	"errors"
	"time"
)

// writeFetch records a fetch in the history of its run, unless nothing came of it.
func (m *merge) writeFetch(t *tx, e *Entry, b *batch) error {
	r := &e.Result
	if m.runID == 0 || r.Outcome == Unchanged {
		return nil
	}
	return t.run(`
		INSERT OR REPLACE INTO fetches (feed_id, run_id, at, outcome, status, bytes, ms, new, updated, error)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.FeedID,
		m.runID,
		stamp(r.at(m.now)),
		r.Outcome,
		number(r.Status),
		r.Bytes,
		r.Millis,
		int64(b.added),
		int64(b.updated),
		text(r.Error))
}

// fail counts data that cannot be stored as its feed's own failure: what the result said of the feed is dropped, so that the
// validators stay those of items that are stored.
func (m *merge) fail(t *tx, e *Entry, cause error) error {
	m.Failed = append(m.Failed, FailedEntry{e.FeedID, cause})
	c, err := t.current(e.FeedID)
	if err != nil || !c.takes(e) {
		return err
	}
	if m.o.Fail == nil {
		return errors.New("no function that counts failures was given")
	}
	r := &e.Result
	at := r.at(m.now)
	f := FeedState{
		Status: "active", Schedule: c.schedule, ConsecutiveFailures: c.consecutiveFailures, FailedHour: c.failedHour,
		LastError: "cannot be stored: " + cause.Error(),
	}
	m.o.Fail(e.FeedID, r.Hour, at, &f)
	var stopped time.Time
	if f.Status == "stopped" {
		stopped = at
		m.Stopped++
	}
	m.Applied++
	err = t.run(`
		UPDATE feeds
		SET status = CASE WHEN ?1 IS NULL THEN status ELSE 'stopped' END,
		    stopped_reason = ?1,
		    stopped_at = ?2,
		    lease_owner = NULL,
		    lease_boot = NULL,
		    lease_until = NULL,
		    merged_token = lease_token,
		    last_fetched_at = ?3,
		    next_fetch_at = ?4,
		    fetched_hour = ?5,
		    failed_hour = ?6,
		    consecutive_failures = ?7,
		    last_error = ?8,
		    last_error_kind = 'store',
		    last_error_at = ?3
		WHERE id = ?9`,
		text(f.StoppedReason),
		stamp(stopped),
		stamp(at),
		stamp(f.NextFetchAt),
		stamp(r.Hour),
		stamp(f.FailedHour),
		int64(f.ConsecutiveFailures),
		f.LastError,
		e.FeedID)
	if err != nil {
		return err
	}
	r = &Result{Outcome: Failed, At: at, Status: r.Status, Bytes: r.Bytes, Millis: r.Millis, Error: f.LastError}
	return m.writeFetch(t, &Entry{FeedID: e.FeedID, Result: *r}, &batch{})
}
