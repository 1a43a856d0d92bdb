package store

import (
	"fmt"
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
	r := &e.Result
	at, failures := r.at(m.now), c.consecutiveFailures
	if r.Hour.IsZero() || !c.failedHour.Equal(r.Hour) {
		failures++
	}
	var reason string
	var stopped time.Time
	if failures >= m.o.MaxFailures {
		reason = fmt.Sprintf("%d failures in a row; the last: cannot be stored: %v", failures, cause)
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
		    failed_hour = ?5,
		    consecutive_failures = ?6,
		    last_error = ?7,
		    last_error_kind = 'store',
		    last_error_at = ?3
		WHERE id = ?8`,
		text(reason),
		stamp(stopped),
		stamp(at),
		stamp(at.Add(backoff(failures))),
		stamp(r.Hour),
		int64(failures),
		"cannot be stored: "+cause.Error(),
		e.FeedID)
	if err != nil {
		return err
	}
	r = &Result{Outcome: Failed, At: at, Status: r.Status, Bytes: r.Bytes, Millis: r.Millis, Error: cause.Error()}
	return m.writeFetch(t, &Entry{FeedID: e.FeedID, Result: *r}, &batch{})
}

// backoff is the wait after the n-th failure in a row: 1, 2, 4, 8 h.
func backoff(n int) time.Duration {
	return time.Hour << (min(max(n, 1), 4) - 1)
}
