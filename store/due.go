package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"time"
)

// Candidate is a feed that might be fetched now, as light as possible.
type Candidate struct {
	ID              int64
	URL             string
	LastAttemptAt   time.Time
	RetryAfterUntil time.Time // zero unless its last answer asked for quiet
}

// Due says which feeds may be fetched.
type Due struct {
	Hour     time.Time // the cron hour
	Now      time.Time
	Grace    time.Duration // 5 min; never applied to Retry-After
	Force    bool          // ignore next_fetch_at and fetched_hour; never a Retry-After still running
	OnlyNew  bool          // only feeds whose next_fetch_at is NULL (extending a snapshot); also with Force
	Host     string        // ours: a lease of ours from another boot is void; "" none is ours
	Boot     string
	MaxLease time.Duration // a lease further in the future than this is void
}

// due is the one condition by which Candidates and Claim choose. Its parameters are those of Due.arguments.
//
// A last_attempt_at in the future means that the clock went back (rule T11): such a feed is due, unless it was fetched in this
// very hour.
const due = `
	    status = 'active'
	AND (retry_after_until IS NULL OR retry_after_until <= ?2)
	AND (lease_owner IS NULL OR lease_until IS NULL OR lease_until <= ?2 OR lease_until > ?8
	     OR (lease_boot IS NOT ?7 AND substr(lease_owner, 1, length(?6)) = ?6))
	AND (NOT ?5 OR next_fetch_at IS NULL)
	AND (?4 OR next_fetch_at IS NULL
	     OR (fetched_hour IS NOT ?1 AND (next_fetch_at <= ?3 OR last_attempt_at > ?2)))`

// arguments are ?1 to ?8 of due.
func (d Due) arguments() []driver.Value {
	return []driver.Value{
		stamp(d.Hour),
		stamp(d.Now),
		stamp(d.Now.Add(d.Grace)),
		truth(d.Force),
		truth(d.OnlyNew),
		d.ours(),
		text(d.Boot),
		stampUp(d.Now.Add(d.MaxLease)),
	}
}

// ours is what the owner of a lease of this host begins with; NULL if the host is not known.
func (d Due) ours() driver.Value {
	if d.Host == "" || d.Boot == "" {
		return nil
	}
	return d.Host + "/"
}

// Candidates lists a category's feeds that are active, due and not leased, oldest last_attempt_at first, never tried first of all.
func (s *Store) Candidates(ctx context.Context, category int64, d Due) ([]Candidate, error) {
	return s.candidates(ctx, "category_id = ?9", d, category)
}

// CandidatesByID is the same for given feeds, whatever their category.
func (s *Store) CandidatesByID(ctx context.Context, ids []int64, d Due) ([]Candidate, error) {
	return s.candidates(ctx, "id IN (SELECT value FROM json_each(?9))", d, idList(ids))
}

func (s *Store) candidates(ctx context.Context, which string, d Due, arg driver.Value) (found []Candidate, err error) {
	err = s.view(ctx, func(t *tx) error {
		found = nil
		return t.query(`
			SELECT id, url, last_attempt_at, retry_after_until
			FROM feeds
			WHERE `+which+`
			  AND `+due+`
			ORDER BY last_attempt_at, id`,
			func(r row) error {
				found = append(found, Candidate{r.int(0), r.text(1), r.time(2), r.time(3)})
				return nil
			}, append(d.arguments(), arg)...)
	})
	if err != nil {
		return nil, fmt.Errorf("choose feeds: %w", err)
	}
	return found, nil
}
