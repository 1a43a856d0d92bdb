package cmd

import (
	"net/http"
	"testing"
	"time"
)

// Of forty feeds 32 are broken in four ways: the others are in the database while the run still waits for the broken ones, and it
// ends with the time-out, not a multiple of it.
func TestBrokenFeedsCostTheirOwnTimeAlone(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	s := newSite(t)
	var healthy []*siteFeed
	for n := range 40 {
		if n%5 == 0 {
			s.addRefusing("News")
			continue
		}
		f := s.add("News", 5)
		switch n % 5 {
		case 1:
			f.behave = hangs
		case 2:
			f.behave, f.code = fails, http.StatusInternalServerError
		case 3:
			f.behave = isHTML
		default:
			healthy = append(healthy, f)
		}
	}
	w := newWorld(t, s, "CRAWL_TIMEOUT="+timeout.String())
	w.subscribe()
	run := w.start(runAt(0), "run")
	w.awaitItems(40, run)
	inTime := time.Since(run.began)
	for _, r := range s.requests() {
		if r.gone {
			t.Fatalf("nothing was stored before %s timed out", r.feed.title)
		}
	}
	s.await(t, "all requests", arrived(32))
	e := run.wait().want(0)
	if e.elapsed < timeout || e.elapsed >= timeout*2 {
		t.Fatalf("the run took %v; the time-out is %v", e.elapsed, timeout)
	}
	t.Logf("stored after %v, ended after %v", inTime, e.elapsed)
	eachOnce(t, s.cut(), servers(s.feeds))
	same(t, "failures", []string{"http | 8 | 1", "not-a-feed | 8 | 1", "refused-connection | 8 | 1", "timeout | 8 | 1"},
		w.query(`SELECT CASE last_error_kind WHEN 'connect' THEN 'refused-connection' ELSE last_error_kind END, count(*), consecutive_failures
			FROM feeds WHERE last_error_kind IS NOT NULL GROUP BY last_error_kind, consecutive_failures`))
	if len(healthy) != 8 {
		t.Fatalf("%d healthy feeds", len(healthy))
	}
	w.converged(halfAt(0))
}

// servers are the feeds whose requests reach the site.
func servers(feeds []*siteFeed) []*siteFeed {
	var list []*siteFeed
	for _, f := range feeds {
		if f.behave != refuses {
			list = append(list, f)
		}
	}
	return list
}
