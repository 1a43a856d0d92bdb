package crawl

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

var outcomeAt = time.Date(2026, 11, 30, 10, 31, 0, 0, time.UTC)
var outcomeHour = time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)

// failing is a feed that has failed n times in a row, in earlier hours.
func failing(n int) *store.Claim {
	return &store.Claim{
		ID: 7, URL: "https://a.example/feed", ConsecutiveFailures: n, FailedHour: outcomeHour.Add(-time.Hour),
		LastError: "the old error", LastErrorKind: "timeout", ETag: `"old"`, LastModified: "old date", ValidatorsURL: "https://a.example/feed",
		BodyHash: 42, Title: "Title", KeyRule: 1, LastSuccessAt: outcomeHour.Add(-48 * time.Hour),
	}
}

func observe(c *store.Claim, resp *fetch.Response, doc *feed.Feed, err error) store.Result {
	return testSettings.outcome(&observation{claim: c, resp: resp, doc: doc, err: err, body: 43, at: outcomeAt, hour: outcomeHour})
}

func TestBreaker(t *testing.T) {
	fail := &fetch.Error{Kind: fetch.KindTimeout, Err: errors.New("no answer")}
	for n := range 5 {
		f := observe(failing(n), nil, nil, fail).Feed
		stopped := f.Status == "stopped"
		if f.ConsecutiveFailures != n+1 || stopped != (n == 4) {
			t.Errorf("after %d failures one more gives %d, status %s", n, f.ConsecutiveFailures, f.Status)
		}
		if stopped && !strings.Contains(f.StoppedReason, "5 failures in a row") {
			t.Errorf("stopped with the reason %q", f.StoppedReason)
		}
		if f.ETag != `"old"` || f.BodyHash != 42 {
			t.Error("C7: a failure touched the validators")
		}
	}
	f := observe(failing(4), &fetch.Response{Status: 304}, nil, nil).Feed
	if f.ConsecutiveFailures != 0 || f.Status != "active" || f.LastError != "" || f.LastErrorKind != "" || !f.LastErrorAt.IsZero() {
		t.Errorf("success after four failures leaves %+v", f)
	}
}

func TestAFailureCountsOnceAnHour(t *testing.T) {
	c := failing(2)
	c.FailedHour = outcomeHour
	if f := observe(c, nil, nil, &fetch.Error{Kind: fetch.KindDNS}).Feed; f.ConsecutiveFailures != 2 {
		t.Errorf("a second failure in the hour makes it %d", f.ConsecutiveFailures)
	}
}

func TestOutcomeOfStatus(t *testing.T) {
	tests := []struct {
		name     string
		resp     fetch.Response
		outcome  string
		failures int
		status   string
		wait     time.Duration // to next_fetch_at, when exact
		quiet    time.Duration // to retry_after_until; 0 none
	}{
		{"429 without Retry-After", fetch.Response{Status: 429}, store.Throttled, 2, "active", time.Hour, time.Hour},
		{"429 with Retry-After", fetch.Response{Status: 429, RetryAfter: 3 * time.Hour}, store.Throttled, 2, "active", 3 * time.Hour, 3 * time.Hour},
		{"429 with a Retry-After of a year", fetch.Response{Status: 429, RetryAfter: 7 * 24 * time.Hour, RetryAfterCapped: true}, store.Throttled, 2, "active", 7 * 24 * time.Hour, 7 * 24 * time.Hour},
		{"503 with Retry-After", fetch.Response{Status: 503, RetryAfter: 2 * time.Hour}, store.Throttled, 2, "active", 2 * time.Hour, 2 * time.Hour},
		{"503 alone", fetch.Response{Status: 503}, store.Failed, 3, "active", 0, 0},
		{"404", fetch.Response{Status: 404}, store.Failed, 3, "active", 0, 0},
		{"500 with Retry-After", fetch.Response{Status: 500, RetryAfter: 48 * time.Hour}, store.Failed, 3, "active", 48 * time.Hour, 48 * time.Hour},
		{"410", fetch.Response{Status: 410}, store.Gone, 2, "stopped", 0, 0},
		{"410 where it has moved for good", fetch.Response{Status: 410, Hops: []fetch.Hop{{Status: 301}}, PermanentURL: "u"}, store.Gone, 2, "stopped", 0, 0},
		{"410 where it has moved for now", fetch.Response{Status: 410, Hops: []fetch.Hop{{Status: 302}}}, store.Failed, 3, "active", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := observe(failing(2), &tt.resp, nil, tt.resp.Failure())
			f := r.Feed
			if r.Outcome != tt.outcome || f.ConsecutiveFailures != tt.failures || f.Status != tt.status {
				t.Errorf("got %s, %d failures, %s", r.Outcome, f.ConsecutiveFailures, f.Status)
			}
			if tt.wait != 0 && !f.NextFetchAt.Equal(outcomeAt.Add(tt.wait)) {
				t.Errorf("next fetch at %v, want in %v", f.NextFetchAt, tt.wait)
			}
			if quiet := (tt.quiet != 0); quiet == f.RetryAfterUntil.IsZero() || quiet && !f.RetryAfterUntil.Equal(outcomeAt.Add(tt.quiet)) {
				t.Errorf("retry after %v, want in %v", f.RetryAfterUntil, tt.quiet)
			}
			if strings.Contains(f.LastError, "Retry-After of more than 7 days") != tt.resp.RetryAfterCapped {
				t.Errorf("last error %q, capped %v", f.LastError, tt.resp.RetryAfterCapped)
			}
			if f.LastError == "" || f.LastErrorKind != "http" || !f.LastErrorAt.Equal(outcomeAt) {
				t.Errorf("last error %q, %q, %v", f.LastError, f.LastErrorKind, f.LastErrorAt)
			}
		})
	}
}

func TestValidators(t *testing.T) {
	doc := &feed.Feed{Rule: 1, Memory: []byte("m"), Count: 1}
	ok := func(etag, lm string) *fetch.Response {
		return &fetch.Response{Status: 200, URL: "https://a.example/final", ETag: etag, LastModified: lm}
	}
	tests := []struct {
		name     string
		resp     *fetch.Response
		doc      *feed.Feed
		etag, lm string
		url      string
		body     int64
		doc2     bool // the document's memory is stored
	}{
		{"C1 both", ok(`"new"`, "new date"), doc, `"new"`, "new date", "https://a.example/final", 43, true},
		{"C4 one is gone", ok("", "new date"), doc, "", "new date", "https://a.example/final", 43, true},
		{"C3 same body, other etag", ok(`"new"`, "old date"), nil, `"new"`, "old date", "https://a.example/final", 43, false},
		{"C5 304 with an etag", &fetch.Response{Status: 304, ETag: `"new"`}, nil, `"new"`, "old date", "https://a.example/feed", 42, false},
		{"C5 304 without", &fetch.Response{Status: 304}, nil, `"old"`, "old date", "https://a.example/feed", 42, false},
		{"C8 cut off", &fetch.Response{Status: 200, URL: "u", ETag: `"new"`, Truncated: "the connection broke"}, doc, `"old"`, "old date", "https://a.example/feed", 42, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := observe(failing(0), tt.resp, tt.doc, nil)
			f := r.Feed
			if f.ETag != tt.etag || f.LastModified != tt.lm || f.ValidatorsURL != tt.url || f.BodyHash != tt.body || (r.Document != nil) != tt.doc2 {
				t.Errorf("stored %q, %q of %q, body %d, document %q", f.ETag, f.LastModified, f.ValidatorsURL, f.BodyHash, r.Document)
			}
		})
	}
	cut := observe(failing(0), tests[5].resp, doc, nil).Feed
	if cut.NextFetchAt.Before(outcomeAt.Add(24*time.Hour)) || !strings.Contains(cut.LastWarning, "did not arrive whole") {
		t.Errorf("C8: next fetch at %v, warning %q", cut.NextFetchAt, cut.LastWarning)
	}
}

func TestIntervalDoublesWithoutValidators(t *testing.T) {
	c := failing(0)
	c.ETag, c.LastModified = "", ""
	same := &fetch.Response{Status: 200, URL: c.URL}
	want := []time.Duration{110 * time.Minute, 220 * time.Minute, 440 * time.Minute, 880 * time.Minute, 24 * time.Hour, 24 * time.Hour}
	for i, w := range want {
		f := observe(c, same, nil, nil).Feed
		if f.Interval != w || !f.NextFetchAt.Equal(outcomeAt.Add(w)) {
			t.Fatalf("unchanged %d times: interval %v, want %v", i+1, f.Interval, w)
		}
		c.Interval = f.Interval
	}
	if f := observe(c, same, &feed.Feed{Rule: 1}, nil).Feed; f.Interval != 0 || !f.NextFetchAt.Equal(outcomeAt.Add(55*time.Minute)) {
		t.Errorf("a change leaves the interval at %v", f.Interval)
	}
}

// Sightings of a permanent redirect as a feed's row keeps them from one hour to the next.
func TestPermanentRedirect(t *testing.T) {
	tests := []struct {
		name     string
		from, to string
		every    time.Duration
		rewrites int // at which sighting; 0 never
	}{
		{"hourly: at the first after two days", "https://a.example/old", "https://b.example/new", time.Hour, 49},
		{"daily: at the fifth", "https://a.example/old", "https://b.example/new", 24 * time.Hour, 5},
		{"http to https of the same address: at once", "http://a.example/x", "https://a.example/x", time.Hour, 1},
		{"http to https of another path", "http://a.example/x", "https://a.example/y", 24 * time.Hour, 5},
		{"https to http: never", "https://a.example/x", "http://a.example/x", 24 * time.Hour, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := failing(0)
			c.URL = tt.from
			when, got := outcomeAt, 0
			for i := 1; i <= 60 && got == 0; i++ {
				o := &observation{claim: c, resp: &fetch.Response{Status: 304, PermanentURL: tt.to}, at: when, hour: outcomeHour}
				f := testSettings.outcome(o).Feed
				if f.URL == tt.to {
					got = i
				}
				c.RedirectURL, c.RedirectSeen, c.RedirectSince = f.RedirectURL, f.RedirectSeen, f.RedirectSince
				when = when.Add(tt.every)
			}
			if got != tt.rewrites {
				t.Errorf("rewritten at sighting %d, want %d", got, tt.rewrites)
			}
		})
	}
	c := failing(0)
	c.RedirectURL, c.RedirectSeen, c.RedirectSince = "https://portal.example/", 4, outcomeAt.Add(-72*time.Hour)
	if f := observe(c, &fetch.Response{Status: 304, PermanentURL: "https://other.example/"}, nil, nil).Feed; f.URL != c.URL || f.RedirectSeen != 1 {
		t.Errorf("another target counts on: %q seen %d", f.URL, f.RedirectSeen)
	}
	if f := observe(c, &fetch.Response{Status: 304}, nil, nil).Feed; f.RedirectURL != "" || f.RedirectSeen != 0 {
		t.Error("an answer without redirect does not end the row")
	}
}

// What only one host may see goes to no other, however permanently that is asked.
func TestASecretDoesNotMoveToAnotherHost(t *testing.T) {
	for name, settings := range map[string]store.FeedSettings{"password": {User: "u", Password: "p"}, "header": {Header: map[string]string{"X-Key": "k"}}, "none": {}} {
		c := failing(0)
		c.Settings = settings
		c.RedirectURL, c.RedirectSeen, c.RedirectSince = "https://b.example/feed", 9, outcomeAt.Add(-72*time.Hour)
		f := observe(c, &fetch.Response{Status: 304, PermanentURL: "https://b.example/feed"}, nil, nil).Feed
		moved, warned := f.URL != c.URL, strings.Contains(f.LastWarning, "b.example")
		if want := name == "none"; moved != want || warned == want {
			t.Errorf("%s: moved %v, warning %q", name, moved, f.LastWarning)
		}
	}
}

// A validator that is too long to send is not kept, whatever brings it; a 304 leaves the one before.
func TestLongValidatorsAreNotKept(t *testing.T) {
	long := `"` + strings.Repeat("x", maxValidator) + `"`
	for _, tt := range []struct {
		status             int
		etag, date         string
		wantETag, wantDate string
	}{
		{200, long, "d", "", "d"},
		{200, `"e"`, long, `"e"`, ""},
		{304, long, "d", `"old"`, "d"},
		{304, `"e"`, long, `"e"`, "before"},
	} {
		c := failing(0)
		c.LastModified = "before"
		doc := &feed.Feed{Rule: 1}
		if tt.status == 304 {
			doc = nil
		}
		f := observe(c, &fetch.Response{Status: tt.status, URL: "u", ETag: tt.etag, LastModified: tt.date}, doc, nil).Feed
		if f.ETag != tt.wantETag || f.LastModified != tt.wantDate {
			t.Errorf("a %d leaves an ETag of %d bytes, Last-Modified of %d", tt.status, len(f.ETag), len(f.LastModified))
		}
	}
}

// What came as a validator and is never sent back (rule C9) spares nothing, so the interval doubles as without.
func TestIntervalDoublesWithoutSendableValidators(t *testing.T) {
	for name, resp := range map[string]fetch.Response{
		"an empty tag":          {ETag: `""`},
		"of the year 2050":      {LastModified: "Sat, 01 Jan 2050 00:00:00 GMT"},
		"of the day after next": {LastModified: outcomeAt.Add(48 * time.Hour).UTC().Format(http.TimeFormat)},
	} {
		c := failing(0)
		c.ETag, c.BodyHash = "", 43
		resp.Status = 200
		if f := observe(c, &resp, nil, nil).Feed; f.Interval == 0 {
			t.Errorf("%s: no longer interval", name)
		}
	}
}

func TestTextsAreBounded(t *testing.T) {
	long := errors.New(strings.Repeat("ö", 5000))
	f := observe(failing(4), nil, nil, fmt.Errorf("%w", long)).Feed
	if len(f.LastError) > maxError || len(f.StoppedReason) > maxError || !strings.HasPrefix(f.LastError, "ö") {
		t.Errorf("last error of %d bytes, reason of %d", len(f.LastError), len(f.StoppedReason))
	}
}
