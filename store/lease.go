package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"
)

// Lease is what a claim writes.
type Lease struct {
	Owner string // host id + "/" + run id
	Boot  string
	Until time.Time
}

// Claim is a claimed feed with all that its fetch and its outcome need to know.
type Claim struct {
	ID                                          int64
	URL                                         string
	Token                                       int64
	Ranked                                      bool      // of its category
	PreviousAttemptAt                           time.Time // last_attempt_at before this claim: given back if nothing is sent
	Title, SiteURL                              string    // the feed's own, as stored
	ConsecutiveFailures                         int
	FailedHour                                  time.Time // hour in which the last failure was counted
	LastError                                   string
	LastErrorKind                               string
	LastErrorAt                                 time.Time
	LastWarning                                 string
	ETag, LastModified                          string
	ValidatorsURL                               string
	BodyHash                                    int64 // 0: none
	LastFetchedAt, LastSuccessAt, LastChangedAt time.Time
	NextFetchAt                                 time.Time
	Interval                                    time.Duration // T8: the doubled interval, 0 none
	KeyRule                                     int
	RedirectURL                                 string // permanent redirect target seen so far
	RedirectSeen                                int
	RedirectSince                               time.Time
	Schedule                                    string // as in FeedState
	Settings                                    FeedSettings
}

// claim leases feeds. It compares, writes and reads in one statement, so that of two processes one gets a feed and the other
// sees it taken. previous_attempt_at is there because RETURNING gives new values only.
const claim = `
	UPDATE feeds
	SET lease_owner = ?10,
	    lease_boot = ?11,
	    lease_until = ?12,
	    lease_token = lease_token + 1,
	    previous_attempt_at = last_attempt_at,
	    last_attempt_at = ?13
	WHERE id IN (SELECT value FROM json_each(?9))
	  AND ` + due + `
	RETURNING id,
	          url,
	          lease_token,
	          (SELECT ranked FROM categories c WHERE c.id = category_id),
	          previous_attempt_at,
	          title,
	          site_url,
	          consecutive_failures,
	          failed_hour,
	          last_error,
	          last_error_kind,
	          last_error_at,
	          last_warning,
	          etag,
	          last_modified,
	          validators_url,
	          body_hash,
	          last_fetched_at,
	          last_success_at,
	          last_changed_at,
	          next_fetch_at,
	          interval_seconds,
	          key_rule,
	          redirect_url,
	          redirect_seen,
	          redirect_since,
	          schedule,
	          settings`

// Claim leases those of the given feeds that are still active, due and free, by one conditional UPDATE … RETURNING: sets owner,
// boot, until and last_attempt_at, adds one to lease_token. The claims are in the order of ids.
func (s *Store) Claim(ctx context.Context, ids []int64, l Lease, d Due) (claims []Claim, err error) {
	args := append(d.arguments(), idList(ids), l.Owner, text(l.Boot), stampUp(l.Until), stamp(d.Now))
	err = s.update(ctx, func(t *tx) error {
		claims = make([]Claim, 0, len(ids))
		return t.query(claim, func(r row) error {
			c, err := scanClaim(r)
			claims = append(claims, c)
			return err
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("claim feeds: %w", err)
	}
	s.o.Point("claim-after-commit")
	order := make(map[int64]int, len(ids))
	for i, id := range ids {
		order[id] = i
	}
	slices.SortFunc(claims, func(a, b Claim) int { return order[a.ID] - order[b.ID] })
	return claims, nil
}

func scanClaim(r row) (Claim, error) {
	c := Claim{
		ID:                  r.int(0),
		URL:                 r.text(1),
		Token:               r.int(2),
		Ranked:              r.bool(3),
		PreviousAttemptAt:   r.time(4),
		Title:               r.text(5),
		SiteURL:             r.text(6),
		ConsecutiveFailures: int(r.int(7)),
		FailedHour:          r.time(8),
		LastError:           r.text(9),
		LastErrorKind:       r.text(10),
		LastErrorAt:         r.time(11),
		LastWarning:         r.text(12),
		ETag:                r.text(13),
		LastModified:        r.text(14),
		ValidatorsURL:       r.text(15),
		BodyHash:            r.int(16),
		LastFetchedAt:       r.time(17),
		LastSuccessAt:       r.time(18),
		LastChangedAt:       r.time(19),
		NextFetchAt:         r.time(20),
		Interval:            time.Duration(r.int(21)) * time.Second,
		KeyRule:             int(r.int(22)),
		RedirectURL:         r.text(23),
		RedirectSeen:        int(r.int(24)),
		RedirectSince:       r.time(25),
		Schedule:            r.text(26),
	}
	return c, r.json(27, &c.Settings)
}

// Document returns the feed's packed item hashes (Feed.Memory), nil if none. Reads on a reader connection.
func (s *Store) Document(ctx context.Context, feed int64) (document []byte, err error) {
	// Without a context that can be cancelled, which would cost more than the query.
	err = s.view(context.WithoutCancel(ctx), func(t *tx) error {
		return t.query("SELECT item_hashes FROM documents WHERE feed_id = ?", func(r row) error {
			document = r.bytes(0)
			return nil
		}, driver.Value(feed))
	})
	if err != nil {
		return nil, fmt.Errorf("read item hashes of feed %d: %w", feed, err)
	}
	return document, nil
}
