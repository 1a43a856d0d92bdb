package crawl

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

const (
	// redirectSightings and redirectAge are how often and for how long a permanent redirect must have been seen before the
	// stored URL follows it: Wi-Fi portals answer 301 too (rule R4).
	redirectSightings = 5
	redirectAge       = 48 * time.Hour
	// maxError bounds the text of last_error and last_warning, in bytes.
	maxError = 500
	// maxValidator bounds an ETag or a Last-Modified, in bytes: servers refuse requests with headers of 8 KiB.
	maxValidator = 4 << 10
)

// observation is everything that one fetch of one feed brought.
type observation struct {
	claim *store.Claim
	resp  *fetch.Response // nil if there was no whole answer
	err   error           // of the fetch, or of the reading
	doc   *feed.Feed      // nil for 304, the same body, and what could not be read
	last  []string        // the keys of the last document; only for a ranked feed that did not send a whole new one
	body  int64           // hash of the body
	at    time.Time       // when it ended
	hour  time.Time
}

// outcome is what an observation means for its feed: the new values of its row, and its items. It is pure: the same
// observation gives the same result.
func (s Settings) outcome(o *observation) store.Result {
	r := store.Result{At: o.at, Hour: o.hour, Ranked: o.claim.Ranked, Feed: carry(o.claim)}
	f := &r.Feed
	f.FetchedHour = o.hour
	if o.resp != nil {
		r.Status, r.Bytes, r.Millis = o.resp.Status, o.resp.Bytes, o.resp.Elapsed.Milliseconds()
		f.LastFetchedAt = o.at
	}
	switch {
	case o.err != nil:
		s.unsuccessful(o, &r)
	case o.doc != nil:
		r.Outcome = store.Changed
		s.read(o, &r)
	default:
		r.Outcome = store.Unchanged
		s.unchanged(o, &r)
	}
	return r
}

// carry starts from the row as the claim saw it: the fence makes sure that it still is so when the result is merged.
func carry(c *store.Claim) store.FeedState {
	return store.FeedState{
		URL: c.URL, Title: c.Title, SiteURL: c.SiteURL, Schedule: c.Schedule,
		Status: "active", ConsecutiveFailures: c.ConsecutiveFailures, FailedHour: c.FailedHour,
		LastError: c.LastError, LastErrorKind: c.LastErrorKind, LastErrorAt: c.LastErrorAt, LastWarning: c.LastWarning,
		ETag: c.ETag, LastModified: c.LastModified, ValidatorsURL: c.ValidatorsURL, BodyHash: c.BodyHash,
		LastFetchedAt: c.LastFetchedAt, LastSuccessAt: c.LastSuccessAt, LastChangedAt: c.LastChangedAt,
		NextFetchAt: c.NextFetchAt, Interval: c.Interval, KeyRule: c.KeyRule,
		RedirectURL: c.RedirectURL, RedirectSeen: c.RedirectSeen, RedirectSince: c.RedirectSince,
	}
}

// succeed ends a row of failures: what was wrong before is gone. It returns a warning about the feed's address, "" if there is none.
func succeed(o *observation, f *store.FeedState) (warning string) {
	f.ConsecutiveFailures, f.FailedHour = 0, time.Time{}
	f.LastError, f.LastErrorKind, f.LastErrorAt = "", "", time.Time{}
	f.LastSuccessAt = o.at
	return follow(o, f)
}

// unchanged is a 304 or the same body. A 304 overwrites only the validators that it carries (rule C5); a 200 with the same
// body replaces both (C3, C4).
func (s Settings) unchanged(o *observation, r *store.Result) {
	f := &r.Feed
	if warning := succeed(o, f); warning != "" {
		f.LastWarning = warning
	}
	r.Keys = o.last
	if o.resp.Status == http.StatusNotModified {
		f.ETag = cmp.Or(returnable(o.resp.ETag), f.ETag)
		f.LastModified = cmp.Or(returnable(o.resp.LastModified), f.LastModified)
		f.Interval = 0
	} else {
		takeValidators(o, f)
		f.Interval = 0
		if !fetch.Sendable(f.ETag, f.LastModified, o.at) {
			f.Interval = s.doubled(o.claim)
		}
	}
	f.NextFetchAt = s.next(o.at, o.claim, o.resp.Fresh, f.Interval, f.Schedule)
}

// takeValidators keeps both as they came.
func takeValidators(o *observation, f *store.FeedState) {
	f.ETag, f.LastModified, f.ValidatorsURL = returnable(o.resp.ETag), returnable(o.resp.LastModified), o.resp.URL
	f.BodyHash = o.body
}

// returnable is a validator, or "" for one that is longer than a server would take back: each request would fail with it.
func returnable(validator string) string {
	if len(validator) > maxValidator {
		return ""
	}
	return validator
}

// read is a document with items to store. One that did not arrive whole keeps its complete items and changes nothing
// else: its validators would hide the rest for ever (rule C8).
func (s Settings) read(o *observation, r *store.Result) {
	f, d := &r.Feed, o.doc
	moved := succeed(o, f)
	f.KeyRule, f.Interval = d.Rule, 0
	f.LastWarning = clip(join("; ", moved, strings.Join(d.Warnings, "; ")), maxError)
	f.Title, f.SiteURL, f.ImageURL, f.Language = d.Title, d.SiteURL, d.ImageURL, d.Language
	f.Schedule = packHints(d.Hints)
	r.Items = itemsOf(d.Items)
	r.Keys = o.last
	cut := o.resp.Truncated != ""
	if !cut {
		takeValidators(o, f)
		r.Document = d.Memory
		if o.claim.Ranked {
			r.Keys = d.Keys
		}
	}
	f.NextFetchAt = s.next(o.at, o.claim, o.resp.Fresh, 0, f.Schedule)
	if cut {
		f.LastWarning = clip(join("; ", "the document did not arrive whole: "+o.resp.Truncated, f.LastWarning), maxError)
		if until := o.at.Add(truncatedDelay); f.NextFetchAt.Before(until) {
			f.NextFetchAt = until
		}
	}
}

// unsuccessful is every outcome but success: throttled, gone, failed.
func (s Settings) unsuccessful(o *observation, r *store.Result) {
	f := &r.Feed
	kind, text := explain(o.err)
	if o.resp != nil && o.resp.RetryAfterCapped {
		text += ", with a Retry-After of more than 7 days, which is taken as 7 days"
	}
	f.LastError, f.LastErrorKind, f.LastErrorAt = clip(text, maxError), kind, o.at
	r.Error = f.LastError
	status, wait := 0, time.Duration(0)
	if o.resp != nil {
		status, wait = o.resp.Status, o.resp.RetryAfter
	}
	if wait > 0 {
		f.RetryAfterUntil = o.at.Add(wait)
	}
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable && wait > 0:
		r.Outcome = store.Throttled
		if wait == 0 {
			f.RetryAfterUntil = o.at.Add(throttledDelay)
		}
		f.NextFetchAt = skip(f.RetryAfterUntil, unpackHints(f.Schedule))
	case status == http.StatusGone && (len(o.resp.Hops) == 0 || o.resp.PermanentURL != ""): // else only for now (rule R3)
		r.Outcome = store.Gone
		f.Status, f.StoppedReason = "stopped", "gone"
	default:
		r.Outcome = store.Failed
		s.fail(o.claim.ID, o.hour, o.at, f)
	}
}

// fail counts a failure, at most once a cron hour, and stops the feed at the limit (the breaker). The row tells the failures before and
// the last error, also for the store (store.Options.Fail), which finds out what cannot be stored.
func (s Settings) fail(feed int64, hour, at time.Time, f *store.FeedState) {
	if !f.FailedHour.Equal(hour) || f.ConsecutiveFailures == 0 {
		f.ConsecutiveFailures++
	}
	f.FailedHour, f.LastError = hour, clip(f.LastError, maxError)
	f.NextFetchAt = at.Add(backoff(f.ConsecutiveFailures, feed, hour))
	if f.RetryAfterUntil.After(f.NextFetchAt) {
		f.NextFetchAt = f.RetryAfterUntil
	}
	f.NextFetchAt = skip(f.NextFetchAt, unpackHints(f.Schedule))
	if f.ConsecutiveFailures >= s.MaxFailures {
		f.Status = "stopped"
		f.StoppedReason = clip(fmt.Sprintf("%s in a row, the last: %s", store.Count(f.ConsecutiveFailures, "failure"), f.LastError), maxError)
	}
}

// follow keeps count of a permanent redirect and rewrites the URL when it was seen often enough, or at once from http to https
// of the same address; never from https to http (rule R4). Whether the target is another feed already is the merge's business.
func follow(o *observation, f *store.FeedState) (warning string) {
	to := o.resp.PermanentURL
	if to == "" || strings.HasPrefix(f.URL, "https:") && strings.HasPrefix(to, "http:") {
		f.RedirectURL, f.RedirectSeen, f.RedirectSince = "", 0, time.Time{}
		return ""
	}
	if f.RedirectURL != to {
		f.RedirectURL, f.RedirectSeen, f.RedirectSince = to, 0, o.at
	}
	f.RedirectSeen++
	upgrade := strings.HasPrefix(f.URL, "http:") && strings.TrimPrefix(f.URL, "http") == strings.TrimPrefix(to, "https")
	if !upgrade && (f.RedirectSeen < redirectSightings || o.at.Sub(f.RedirectSince) < redirectAge) {
		return ""
	}
	if !upgrade && secret(o.claim.Settings) && fetch.Host(f.URL) != fetch.Host(to) {
		return "it has moved to " + fetch.Redact(to) + "; as its requests carry a password or headers, a person must follow it (crawl set)"
	}
	f.URL = to
	f.RedirectURL, f.RedirectSeen, f.RedirectSince = "", 0, time.Time{}
	return ""
}

// secret tells whether a feed's requests carry what only its own host may see.
func secret(s store.FeedSettings) bool {
	return s.User != "" || s.Password != "" || len(s.Header) > 0
}

// explain gives the kind that is stored and the words that are shown. Errors of fetch and feed name no URL beyond its host.
func explain(err error) (kind, text string) {
	var fe *fetch.Error
	var re *feed.Error
	switch {
	case errors.As(err, &fe):
		return string(fe.Kind), fe.Error()
	case errors.As(err, &re):
		return string(re.Kind), re.Error()
	}
	return "parse", err.Error()
}

func itemsOf(items []feed.Item) []store.Item {
	out := make([]store.Item, len(items))
	for i := range items {
		it := &items[i]
		out[i] = store.Item{
			Key: it.Key, GUID: it.GUID, URL: it.URL, Title: it.Title, Author: it.Author,
			Summary: it.Summary, Content: it.Content, CommentsURL: it.CommentsURL, ImageURL: it.ImageURL,
			Language: it.Language, Duration: it.Duration, PublishedAt: it.PublishedAt, UpdatedAt: it.UpdatedAt,
			Categories: it.Categories, Hash: it.Hash,
		}
		for _, e := range it.Enclosures {
			out[i].Enclosures = append(out[i].Enclosures, store.Enclosure(e))
		}
	}
	return out
}

// ErrorLine is an error's text on one line: what was joined has one for each error, and they are told apart by semicolons.
func ErrorLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
}

// reason is an error as it is stored for who asks later why something did not end well.
func reason(err error) string { return clip(oneLine(ErrorLine(err)), maxError) }

// oneLine makes text fit for one line of a message: blanks and line ends are single spaces, control and format characters are dropped.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsSpace(r) && unicode.In(r, unicode.Cc, unicode.Cf) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

func join(sep string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, sep)
}
