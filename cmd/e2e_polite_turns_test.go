package cmd

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is a host to which redirects of many others lead. It takes its time for each answer.
type shared struct {
	b         *web
	url       string
	mu        sync.Mutex
	takes     time.Duration
	now, most int      // requests under way
	asked     []string // paths, in order
	gate      chan struct{}
}

// share opens one.
func (b *web) share(takes time.Duration) *shared {
	s := &shared{b: b, takes: takes, gate: make(chan struct{})}
	l := b.listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.now++
		s.most = max(s.most, s.now)
		s.asked = append(s.asked, r.URL.Path)
		takes := s.takes
		s.mu.Unlock()
		select {
		case <-s.gate:
		case <-time.After(takes):
		case <-r.Context().Done():
		}
		s.mu.Lock()
		s.now--
		s.mu.Unlock()
		io.WriteString(w, strings.ReplaceAll(rss("", 1, 2), "id-", r.URL.Path))
	})}
	go server.Serve(l)
	b.t.Cleanup(func() { server.Close() })
	s.url = "http://" + l.Addr().String()
	return s
}

// from is a feed of a new host that redirects here.
func (s *shared) from(path string) string { return s.b.leading(http.StatusFound, s.url+path) }

// requests are the paths that were asked so far.
func (s *shared) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// However many feeds redirect to one host, it has no more requests at a time than a host may have, its own feeds have every second turn, and the
// wait of the others is none of a GET's time: they were counted as failed by a host that had not been asked for them.
func TestRedirectsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	s := b.share(450 * time.Millisecond)
	var urls []string
	for n := range 12 {
		urls = append(urls, s.from("/"+string(rune('a'+n))))
	}
	urls = append(urls, s.url+"/own1", s.url+"/own2")
	w := newWorld(t, nil, "CRAWL_TIMEOUT=5s", "CRAWL_PER_HOST=1", "CRAWL_WORKERS=8")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	same(t, "feeds that failed or were not read", nil, w.query(
		"SELECT url FROM feeds f WHERE last_error IS NOT NULL OR NOT EXISTS (SELECT 1 FROM items WHERE feed_id = f.id)"))
	asked := s.requests()
	if s.most != 1 || len(asked) != 14 {
		t.Errorf("%d requests, at most %d at a time, not 14 and 1", len(asked), s.most)
	}
	if slices.Index(asked, "/own1") > 2 || slices.Index(asked, "/own2") > 3 {
		t.Errorf("its own feeds did not have every second turn: %v", asked)
	}
	if n := w.number("SELECT requests FROM runs"); n != 12+14 {
		t.Errorf("%d requests are counted, not 26", n)
	}
	w.sound()
}

// Nor do a host's own feeds keep those from their turn that redirects lead there. Where they were more than fit into a run, the latter were never
// read, and nothing told of it.
func TestOwnFeedsAndThoseOfRedirectsAlternate(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	s := b.share(0)
	urls := []string{s.from("/a"), s.from("/b")}
	want := []string{"/0", "/a", "/1", "/b"}
	for n := range 6 {
		urls = append(urls, fmt.Sprintf("%s/%d", s.url, n))
		if n > 1 {
			want = append(want, fmt.Sprint("/", n))
		}
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=1")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	if asked := s.requests(); !slices.Equal(asked, want) {
		t.Errorf("asked for %v, not %v", asked, want)
	}
}

// Feeds that wait where redirects led hold no worker. A run that is killed meanwhile counts none of them, gives back what it holds, and counts its requests; the next
// one reads those that waited first.
func TestAKillWhileRedirectsWait(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	s := b.share(time.Minute)
	urls := append([]string{s.from("/a"), s.from("/b"), s.from("/c")}, append(b.crowd(1), b.crowd(1)...)...)
	w := newWorld(t, nil, "CRAWL_PER_HOST=1", "CRAWL_WORKERS=2")
	w.follows(urls...)
	b.tick(runAt(0))
	points := filepath.Join(t.TempDir(), "points")
	run := w.with("CRAWL_TEST_POINTS="+points).start(runAt(0), "run")
	await(t, "a request where the redirects lead", func() bool { return len(s.requests()) > 0 })
	await(t, "all first answers", func() bool {
		passed := strings.Join(lines(t, points), " ")
		return strings.Count(passed, "moved") == 3 && strings.Count(passed, "fetched") == 2
	})
	w.run(runAt(0), "kill").want(0)
	run.wait().want(5)
	same(t, "feeds that were counted or are held", nil, w.query(
		"SELECT url FROM feeds WHERE consecutive_failures > 0 OR last_error IS NOT NULL OR lease_owner IS NOT NULL"))
	if n := w.number("SELECT count(*) FROM feeds WHERE last_attempt_at IS NULL"); n != 2 {
		t.Errorf("%d of the 2 that waited are as they were", n)
	}
	if n := w.number("SELECT requests FROM runs"); n != 6 {
		t.Errorf("%d requests are counted, not 6", n)
	}
	first := s.requests()
	close(s.gate)
	b.quietly(w.with("CRAWL_WORKERS=1"), runAt(1), "run") // one after the other
	if last := s.requests(); len(last) != 4 || last[3] != first[0] {
		t.Errorf("%v was asked before the kill, %v in all: those that waited were not first", first, last)
	}
	if n := w.number("SELECT count(*) FROM items"); n != 2*len(urls) {
		t.Errorf("%d items, not two of each feed", n)
	}
	w.sound()
}

// A host that falls silent is one domain's silence, however many feeds of others lead there, one after the other: it is no outage, and counts
// against each of them.
func TestASilentHostToWhichRedirectsLead(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	s := b.share(0)
	var urls []string
	for n := range 6 {
		urls = append(urls, s.from("/"+string(rune('a'+n))))
	}
	w := newWorld(t, nil, "CRAWL_PER_HOST=1")
	w.follows(append(b.crowd(1), urls...)...)
	b.quietly(w, runAt(0), "run")
	s.mu.Lock()
	s.takes = time.Minute
	s.mu.Unlock()
	b.quietly(w.with("CRAWL_TIMEOUT=2500ms"), runAt(1), "run")
	if n := w.number("SELECT count(*) FROM feeds WHERE consecutive_failures = 1 AND last_error_kind = 'timeout'"); n != len(urls) || len(s.requests()) != 2*len(urls) {
		t.Errorf("%d of %d feeds are counted, after %d requests", n, len(urls), len(s.requests()))
	}
}
