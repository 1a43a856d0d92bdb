package store

import (
	"database/sql/driver"
	"time"
)

// updateFeed writes what an outcome sets, ends the lease, and holds only while the token is the feed's current one that was not
// merged yet. What only a document says (picture, language) stays if a result has none; the key rule changes by re-keying only.
const updateFeed = `
	UPDATE feeds
	SET status = ?,
	    stopped_reason = ?,
	    stopped_at = ?,
	    lease_owner = NULL,
	    lease_boot = NULL,
	    lease_until = NULL,
	    merged_token = lease_token,
	    last_fetched_at = ?,
	    last_success_at = ?,
	    last_changed_at = ?,
	    next_fetch_at = ?,
	    retry_after_until = ?,
	    fetched_hour = ?,
	    interval_seconds = ?,
	    consecutive_failures = ?,
	    failed_hour = ?,
	    last_error = ?,
	    last_error_kind = ?,
	    last_error_at = ?,
	    last_warning = ?,
	    etag = ?,
	    last_modified = ?,
	    validators_url = ?,
	    body_hash = ?,
	    key_rule = coalesce(key_rule, ?),
	    redirect_url = ?,
	    redirect_seen = ?,
	    redirect_since = ?,
	    title = ?,
	    site_url = ?,
	    image_url = coalesce(?, image_url),
	    language = coalesce(?, language),
	    schedule = ?
	WHERE id = ?
	  AND lease_token = ?
	  AND merged_token < lease_token
	  AND url = ?`

// values are the arguments of updateFeed before its WHERE clause.
func (f *FeedState) values(at time.Time) []driver.Value {
	var stopped time.Time
	if f.Status == "stopped" {
		stopped = at
	}
	return []driver.Value{
		f.Status,
		text(f.StoppedReason),
		stamp(stopped),
		stamp(f.LastFetchedAt),
		stamp(f.LastSuccessAt),
		stamp(f.LastChangedAt),
		stamp(f.NextFetchAt),
		stampUp(f.RetryAfterUntil),
		stamp(f.FetchedHour),
		number(int64(f.Interval / time.Second)),
		int64(f.ConsecutiveFailures),
		stamp(f.FailedHour),
		text(f.LastError),
		text(f.LastErrorKind),
		stamp(f.LastErrorAt),
		text(f.LastWarning),
		text(f.ETag),
		text(f.LastModified),
		text(f.ValidatorsURL),
		number(f.BodyHash),
		number(f.KeyRule),
		text(f.RedirectURL),
		int64(f.RedirectSeen),
		stamp(f.RedirectSince),
		text(f.Title),
		text(f.SiteURL),
		text(f.ImageURL),
		text(f.Language),
		text(f.Schedule),
	}
}

// writeFeed writes the feed's row. It returns 0 if the guard did not hold.
func (m *merge) writeFeed(t *tx, e *Entry, f *FeedState) (int64, error) {
	args := append(f.values(e.Result.at(m.now)), e.FeedID, e.Token, valid(f.URL))
	return t.exec(updateFeed, args...)
}
