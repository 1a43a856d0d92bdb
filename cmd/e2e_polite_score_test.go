package cmd

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// The scorekeeper counts what a service that scores feed readers counts, from the server's log alone.

// graceGiven is how much before its time a run may take a feed. A Retry-After has no grace.
const graceGiven = 5 * time.Minute

// scored is how one page is scored.
type scored struct {
	*page
	name     string
	open     bool                             // gives no validators: every request is unconditional
	never    bool                             // only redirects elsewhere: no request may have validators
	unsent   string                           // "If-Modified-Since": a validator that must not be sent back
	wait     func(reply) time.Duration        // what else an answer asks for: max-age, ttl
	skipped  func(at time.Time) bool          // hours that its document excludes
	expected func(t testing.TB, requests int) // a reader that never asks is no good reader either
}

// score is what was counted, with the first case of each fault.
type score struct {
	faults map[string]int
	first  map[string]string
}

func (s *score) fault(kind, format string, args ...any) {
	if s.faults[kind]++; s.faults[kind] == 1 {
		s.first[kind] = fmt.Sprintf(format, args...)
	}
}

// keepScore goes through a log. forced are the visits with --force, which may come before their time.
func keepScore(log []webRequest, pages []*scored, forced map[int]bool) *score {
	s := &score{map[string]int{}, map[string]string{}}
	agents := map[string]bool{}
	perVisit := map[string]int{}
	for _, r := range log {
		if r.page == nil {
			s.fault("address that nobody gave", "%s", r.url)
		}
		for _, name := range []string{"Cookie", "Referer", "Authorization", "From", "Range"} {
			if value := r.header.Get(name); value != "" {
				s.fault(name, "%s: %s", r.url, value)
			}
		}
		if r.method != http.MethodGet {
			s.fault("method", "%s %s", r.method, r.url)
		}
		agents[r.header.Get("User-Agent")] = true
		key := fmt.Sprint(r.visit, " ", r.url)
		if perVisit[key]++; perVisit[key] > 1 {
			s.fault("second request in a run", "%s at %v", r.url, r.at)
		}
	}
	if len(agents) != 1 {
		s.fault("more than one User-Agent", "%v", agents)
	}
	for _, p := range pages {
		s.page(p, log, forced)
	}
	return s
}

// given is what a reader holds after an answer.
type given struct {
	asked          bool
	etag, modified string
	last           time.Time // of the last request
	until, quiet   time.Time // of the answer's max-age and the like, and of its Retry-After
	lost           bool      // the last answer was never kept
}

// page scores the requests of one page in their order.
func (s *score) page(p *scored, log []webRequest, forced map[int]bool) {
	var g given
	for _, r := range log {
		if r.page != p.page {
			continue
		}
		s.validators(p, &g, r)
		s.times(p, &g, r, forced[r.visit])
		g.take(p, r)
	}
}

// validators compares what a request carries with what the answers gave.
func (s *score) validators(p *scored, g *given, r webRequest) {
	etag, modified := r.header.Get("If-None-Match"), r.header.Get("If-Modified-Since")
	want, wantModified := g.etag, g.modified
	if p.unsent == "If-Modified-Since" {
		wantModified = ""
	}
	switch {
	case g.asked && !p.open && !p.never && etag == "" && modified == "":
		s.fault("unconditional after the first", "%s at %v", p.name, r.at)
	case etag != want:
		s.fault("invented or stale If-None-Match", "%s at %v: %q, not %q", p.name, r.at, etag, want)
	case modified != wantModified:
		s.fault("invented or stale If-Modified-Since", "%s at %v: %q, not %q", p.name, r.at, modified, wantModified)
	}
	if n := len(r.header["If-None-Match"]) + len(r.header["If-Modified-Since"]); n > 2 {
		s.fault("validators twice", "%s at %v", p.name, r.at)
	}
}

// times looks at the gap before a request, and at what the last answer asked for.
func (s *score) times(p *scored, g *given, r webRequest, forced bool) {
	if r.at.Before(g.quiet) {
		s.fault("inside a Retry-After", "%s at %v, not before %v", p.name, r.at, g.quiet)
	}
	if forced || !g.asked || g.lost {
		return
	}
	if gap := r.at.Sub(g.last); gap < 55*time.Minute {
		s.fault("gap under the minimum", "%s at %v, %v after the last", p.name, r.at, gap)
	}
	if r.at.Add(graceGiven).Before(g.until) {
		s.fault("inside a max-age", "%s at %v, not before %v", p.name, r.at, g.until)
	}
	if p.skipped != nil && p.skipped(r.at) {
		s.fault("in an hour that the document excludes", "%s at %v", p.name, r.at.UTC())
	}
}

// take learns from an answer. One that did not go out, or that the program was killed over, teaches nothing.
func (g *given) take(p *scored, r webRequest) {
	g.last, g.lost = r.at, r.lost
	if r.lost || !r.whole {
		return
	}
	header := r.reply.header
	g.until, g.quiet = time.Time{}, time.Time{}
	if p.wait != nil {
		g.until = r.at.Add(p.wait(r.reply))
	}
	switch r.reply.status {
	case http.StatusOK:
		g.asked = true
		g.etag, g.modified = header["ETag"], header["Last-Modified"]
	case http.StatusNotModified:
		if header["ETag"] != "" {
			g.etag = header["ETag"]
		}
		if header["Last-Modified"] != "" {
			g.modified = header["Last-Modified"]
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		g.quiet = r.at.Add(retryAfterOf(r))
	}
}

// retryAfterOf reads a Retry-After as the test's pages write it.
func retryAfterOf(r webRequest) time.Duration {
	text := r.reply.header["Retry-After"]
	if d, err := time.ParseDuration(text + "s"); err == nil {
		return d
	}
	until, err := time.Parse(time.RFC1123Z, text)
	if err != nil {
		panic(err)
	}
	return until.Sub(r.at.Truncate(time.Second))
}

// wantClean fails the test for each kind of fault.
func (s *score) wantClean(t testing.TB) {
	t.Helper()
	for kind, n := range s.faults {
		t.Errorf("%d × %s, the first: %s", n, kind, s.first[kind])
	}
}

// The scorekeeper itself counts: a careless reader's log has each of the faults.
func TestScorekeeperSeesCarelessReaders(t *testing.T) {
	t.Parallel()
	p := &scored{page: &page{url: "http://h/feed"}, name: "feed", wait: func(reply) time.Duration { return 4 * time.Hour },
		skipped: func(time.Time) bool { return true }}
	at := runAt(0)
	ok := reply{status: 200, header: map[string]string{"ETag": `"a"`, "Last-Modified": "x"}}
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	log := []webRequest{
		{page: p.page, url: p.url, method: "GET", header: header(), at: at, visit: 1, reply: ok, whole: true},
		{page: p.page, url: p.url, method: "HEAD", header: header("Cookie", "a=b", "Referer", "http://h/", "User-Agent", "x"), at: at.Add(time.Minute), visit: 1,
			reply: reply{status: 429, header: map[string]string{"Retry-After": "7200"}}, whole: true},
		{page: p.page, url: p.url, method: "GET", header: header("If-None-Match", `"b"`, "If-Modified-Since", "x"), at: at.Add(time.Hour), visit: 2, reply: ok, whole: true},
		{page: p.page, url: p.url, method: "GET", header: header("If-None-Match", `"a"`, "If-Modified-Since", "y"), at: at.Add(2 * time.Hour), visit: 3, reply: ok, whole: true},
		{url: "http://h/feed?utm_source=x", method: "GET", header: header(), at: at, visit: 4},
	}
	s := keepScore(log, []*scored{p}, nil)
	for _, kind := range []string{
		"address that nobody gave", "Cookie", "Referer", "method", "second request in a run", "more than one User-Agent",
		"unconditional after the first", "invented or stale If-None-Match", "invented or stale If-Modified-Since",
		"inside a Retry-After", "gap under the minimum", "inside a max-age", "in an hour that the document excludes",
	} {
		if s.faults[kind] == 0 {
			t.Errorf("not counted: %s; only %v", kind, s.faults)
		}
	}
}
