package cmd

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostOf is the authority of a URL.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u.Host
}

// crowd puts so many feeds on one new host.
func (b *web) crowd(feeds int) []string { return b.crowdAt(b.host(), feeds) }

func (b *web) crowdAt(host string, feeds int) []string {
	var urls []string
	for n := range feeds {
		body := strings.ReplaceAll(rss("", 1, 2), "id-", fmt.Sprintf("id-%d-", n))
		p := b.page(fmt.Sprintf("%s/%d/feed", host, n), func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", body) })
		urls = append(urls, p.url)
	}
	return urls
}

// beside opens one more host of another's domain: the same address, another port.
func (b *web) beside(host string) string {
	b.t.Helper()
	l, err := net.Listen("tcp4", strings.Split(strings.TrimPrefix(host, "http://"), ":")[0]+":0")
	if err != nil {
		b.t.Fatal(err)
	}
	go b.server.Serve(l)
	return "http://" + l.Addr().String()
}

// A cap is not filled by one host: of 150 feeds on one and ten on others all ten are asked. What was left out comes first in the next hour.
func TestHostsTakeTurnsUnderACap(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	big := b.crowd(150)
	var others []string
	for range 10 {
		others = append(others, b.crowd(1)...)
	}
	w := newWorld(t, nil)
	w.follows(append(slices.Clone(big), others...)...)

	b.quietly(w, runAt(0), "run", "--max-feeds", "100")
	first := b.asked()
	if len(first) != 100 {
		t.Fatalf("%d requests, not 100", len(first))
	}
	for _, u := range others {
		if !slices.Contains(first, u) {
			t.Fatalf("%s, alone on its host, was left out", u)
		}
	}
	before := w.writable()
	b.quietly(w, halfAt(0), "half-check")
	b.quietly(w, halfAt(0).Add(time.Minute), "run")
	if n := len(b.asked()); n != 0 {
		t.Fatalf("the half-check and a second run asked %d feeds that the cap had left out", n)
	}
	same(t, "files after a half-check with nothing to do", before, w.writable())
	if plan := w.run(halfAt(0), "run", "--dry-run").want(0).stdout; strings.Contains(plan, "fetch ") || strings.Count(plan, "next hour") != 60 {
		t.Fatalf("the plan for feeds left to the next hour:\n%s", plan)
	}
	late := b.crowd(1) // who is new now is asked now, and those left out are not
	w.run(halfAt(0), "add", "--no-fetch", "--category", "News", late[0]).want(0)
	b.quietly(w, halfAt(0).Add(2*time.Minute), "half-check")
	same(t, "requests", late, b.asked())

	b.quietly(w.with("CRAWL_PER_HOST=1"), runAt(1), "run", "--max-feeds", "100") // so that none passes another
	var order []string                                                           // of the big host's feeds
	for _, r := range b.requests() {
		if r.visit == b.visits && slices.Contains(big, r.url) {
			order = append(order, r.url)
		}
	}
	if len(order) != 90 {
		t.Fatalf("%d feeds of the big host were asked in the second hour", len(order))
	}
	for i, u := range order {
		if late := slices.Contains(first, u); late != (i >= 60) {
			t.Fatalf("the second hour's request %d is for %s, which the first hour asked: %v", i, u, late)
		}
	}
	if n := w.number("SELECT count(DISTINCT feed_id) FROM items"); n != 161 {
		t.Fatalf("items of %d feeds are stored after two hours, not 161", n)
	}
	w.sound()
}

// Nor by many hosts of one domain: of 30 such feeds and ten of others all ten are asked, as the dry run foretells.
func TestDomainsTakeTurnsUnderACap(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	host := b.host()
	many := b.crowdAt(host, 1)
	for range 29 {
		many = append(many, b.crowdAt(b.beside(host), 1)...)
	}
	var others []string
	for range 10 {
		others = append(others, b.crowd(1)...)
	}
	w := newWorld(t, nil)
	w.follows(append(slices.Clone(many), others...)...)
	for hour := range 15 {
		var plan []planned
		if err := json.Unmarshal([]byte(w.run(runAt(hour), "run", "--dry-run", "--json", "--max-feeds", "12").want(0).stdout), &plan); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, f := range plan {
			if f.Fetch {
				want = append(want, f.URL)
			}
		}
		b.quietly(w, runAt(hour), "run", "--max-feeds", "12")
		same(t, "requests", want, b.asked())
		for _, u := range others {
			if !slices.Contains(want, u) {
				t.Fatalf("hour %d: %s, alone on its domain, was left out", hour, u)
			}
		}
	}
	if n := w.number("SELECT count(DISTINCT feed_id) FROM items"); n != 40 {
		t.Fatalf("%d feeds of 40 were asked in fifteen hours", n)
	}
	w.sound()
}

// A host that is slow holds up nobody: with 20 of its feeds and 8 workers, the 30 feeds of others are stored while two of its answers
// are waited for, and no more than two.
func TestAWaitingHostOccupiesNoWorker(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	slow := b.crowd(20)
	gate := make(chan struct{})
	for _, u := range slow {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], gate)
	}
	urls := slices.Clone(slow)
	for range 30 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=8")
	w.follows(urls...) // the slow host's feeds first
	b.tick(runAt(0))
	run := w.start(runAt(0), "run")
	w.awaitItems(2*30, run)
	asked := 0
	for _, u := range b.asked() {
		if slices.Contains(slow, u) {
			asked++
		}
	}
	if asked != 2 {
		t.Fatalf("the slow host was asked %d times at once, not 2", asked)
	}
	close(gate)
	run.wait().want(0).wantSilence()
	same(t, "requests", urls, b.asked())
	if n := w.number("SELECT count(*) FROM items"); n != 2*50 {
		t.Fatalf("%d items, not 100", n)
	}
	w.sound()
}

// Nor does it keep from their turn those that asked for quiet last time: they go last among their own domain's alone. Where one host had more
// feeds than fit into a run, such feeds of others were never asked again.
func TestWhoAskedForQuietWaitsForItsOwnDomainAlone(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	slow := b.crowd(20)
	answer := reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "600"}}
	var quiet []string
	for range 3 {
		quiet = append(quiet, b.page(b.host()+"/quiet", func(time.Time, *http.Request) reply { return answer }).url)
	}
	w := newWorld(t, nil)
	w.follows(append(slices.Clone(slow), quiet...)...)
	b.quietly(w, runAt(0), "run")
	b.mu.Lock()
	answer = reply{body: rss("", 1, 2)}
	b.mu.Unlock()
	gate := make(chan struct{})
	for _, u := range slow {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], gate)
	}
	b.tick(runAt(1))
	run := w.start(runAt(1), "run")
	w.awaitItems(2*20+2*3, run)
	close(gate)
	run.wait().want(0).wantSilence()
	same(t, "requests", append(slow, quiet...), b.asked())
	w.sound()
}

// Among its own domain's it goes last, but for a day only: where these are more than fit into a run it was never asked again.
func TestWhoAskedForQuietIsLastForADay(t *testing.T) {
	t.Parallel()
	for hour, want := range map[int]int{1: 4, 24: 4, 25: 0} {
		b := newWeb(t)
		host := b.host()
		answer := reply{status: http.StatusServiceUnavailable, header: map[string]string{"Retry-After": "1800"}}
		quiet := b.page(host+"/quiet", func(time.Time, *http.Request) reply { return answer }).url
		w := newWorld(t, nil, "CRAWL_WORKERS=1")
		w.follows(append([]string{quiet}, b.crowdAt(host, 4)...)...) // it first
		b.quietly(w, runAt(0), "run")
		b.quietly(w, runAt(hour), "run")
		var order []string
		for _, r := range b.requests() {
			if r.visit == b.visits {
				order = append(order, r.url)
			}
		}
		if at := slices.Index(order, quiet); at != want || len(order) != 5 {
			t.Errorf("after %d hours it is number %d of %v, not %d", hour, at, order, want)
		}
	}
}

// Nor do many hosts of a few domains, though they are the oldest and far more than there are workers: the others' feeds are stored while all
// of these are silent, also those that wait for their turn at their own host.
func TestAFewDomainsOccupyNotEveryWorker(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	gate := make(chan struct{})
	var silent []string
	for range 4 {
		first := b.host()
		for _, host := range []string{first, b.beside(first), b.beside(first), b.beside(first), b.beside(first), b.beside(first)} {
			silent = append(silent, b.crowdAt(host, 2)...)
		}
	}
	for _, u := range silent {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], gate)
	}
	urls := append(slices.Clone(silent), b.crowd(20)...)
	for range 10 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=16")
	w.follows(urls...)
	b.tick(runAt(0))
	run := w.start(runAt(0), "run")
	w.awaitItems(2*30, run)
	close(gate)
	run.wait().want(0).wantSilence()
	same(t, "requests", urls, b.asked())
	w.sound()
}

// A 429 silences its domain for the rest of the run: the host's other feeds wait for the next hour, uncounted, and go before it.
func TestTooManyRequestsSilencesTheHost(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	host := b.host()
	answer := reply{status: http.StatusTooManyRequests}
	var urls []string
	for n := range 20 {
		p := b.page(fmt.Sprintf("%s/%d", host, n), func(time.Time, *http.Request) reply { return answer })
		urls = append(urls, p.url)
	}
	urls = append(urls, b.crowd(1)...)
	w := newWorld(t, nil)
	w.follows(urls...)
	b.quietly(w, runAt(0).Add(3*time.Minute), "run")
	first := b.asked()
	if n := len(first); n > 1+2+2 { // two at once, and each may start another before the other's answer is known
		t.Fatalf("%d requests after a 429", n-1)
	}
	same(t, "feeds with a failure", nil, w.query("SELECT url FROM feeds WHERE consecutive_failures <> 0"))
	b.mu.Lock()
	answer = reply{body: rss("", 1, 1)}
	b.mu.Unlock()
	b.quietly(w, halfAt(0), "half-check")
	if n := len(b.asked()); n != 0 {
		t.Fatalf("the half-check asked %d feeds of a host that had asked for quiet", n)
	}
	b.quietly(w, runAt(1), "run")
	for _, u := range urls[:20] {
		if slices.Contains(first, u) == slices.Contains(b.asked(), u) { // those throttled must wait an hour: three minutes more
			t.Fatalf("%s: asked in the first hour: %v, in the second: %v", u, slices.Contains(first, u), slices.Contains(b.asked(), u))
		}
	}
}

// A 429 is meant for its whole registrable domain, whatever the host; a 503 with a Retry-After for its own feed alone, though a neighbour
// be on the same host.
func TestWhomAnAnswerSilences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		asked  []int // the feeds, of those below
	}{
		{http.StatusTooManyRequests, []int{0, 3}},
		{http.StatusServiceUnavailable, []int{0, 1, 2, 3}},
	} {
		b := newWeb(t)
		busy := reply{status: c.status, header: map[string]string{"Retry-After": "1800"}}
		urls := []string{b.page("http://one.site.example/busy", always(busy)).url}
		for _, url := range []string{"http://one.site.example/feed", "http://two.site.example/feed", "http://other.example/feed"} {
			urls = append(urls, b.page(url, always(reply{body: rss("", 1, 2)})).url)
		}
		w := newWorld(t, nil, "CRAWL_WORKERS=1", "CRAWL_PROXY="+b.host()) // which answers for all names
		w.follows(urls...)
		b.quietly(w, runAt(0), "run")
		var want []string
		for _, n := range c.asked {
			want = append(want, urls[n])
		}
		same(t, fmt.Sprintf("requests of a run that gets %d", c.status), want, b.asked())
		b.quietly(w, runAt(1), "run")
		same(t, "requests of the next hour", urls, b.asked())
	}
}

// A 429 after a redirect to another domain is that feed's alone: anybody can redirect to a page that answers so.
func TestTooManyRequestsAfterARedirect(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	from, limited := b.host(), b.host()
	full := b.page(b.beside(limited)+"/full", always(reply{status: http.StatusTooManyRequests})).url
	moved := b.page(from+"/moved", always(reply{status: http.StatusFound, header: map[string]string{"Location": full}})).url
	feed := func(url string) string { return b.page(url, always(reply{body: rss("", 1, 2)})).url }
	neighbour, other := feed(from+"/feed"), feed(limited+"/feed")
	w := newWorld(t, nil, "CRAWL_WORKERS=1")
	w.follows(moved, neighbour, other)
	b.quietly(w, runAt(0).Add(3*time.Minute), "run")
	same(t, "requests", []string{moved, full, neighbour, other}, b.asked())
	b.quietly(w, runAt(1), "run")
	same(t, "requests of the next hour", []string{neighbour, other}, b.asked()) // the first must wait for an hour: three minutes more
}

// Hours that the document excludes are kept also by a run that comes late, after a failure, and where the feed came due just before.
func TestNoRequestInExcludedHours(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	status := http.StatusOK
	p := b.page(b.host()+feedPath, func(time.Time, *http.Request) reply {
		return reply{status: status, body: rss("<skipHours><hour>20</hour><hour>21</hour></skipHours>", 1, 2)}
	})
	b.crowd(1)
	w := newWorld(t, nil)
	w.follows(p.url)
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 30, hour, minute, 5, 0, time.UTC) }
	asked := func(when time.Time, want int, args ...string) {
		t.Helper()
		b.visit(w, when, args...).want(0)
		if got := len(b.asked()); got != want {
			t.Fatalf("%d requests of crawl %v at %v, not %d", got, args, when, want)
		}
	}
	b.quietly(w, at(17, 59), "run")
	asked(at(18, 59), 1, "run")
	asked(at(20, 0), 0, "run") // due at 19:54
	asked(at(21, 0), 0, "run")
	asked(at(22, 0), 1, "run")

	day := 24 * time.Hour
	b.mu.Lock()
	status = http.StatusInternalServerError
	b.mu.Unlock()
	asked(at(19, 5).Add(day), 1, "run")
	b.mu.Lock()
	status = http.StatusOK
	b.mu.Unlock()
	asked(at(20, 5).Add(day), 0, "run")
	asked(at(21, 5).Add(day), 0, "run")
	asked(at(21, 20).Add(day), 1, "run", "--force")
	same(t, "leases left", nil, w.query("SELECT id FROM feeds WHERE lease_owner IS NOT NULL"))
}
