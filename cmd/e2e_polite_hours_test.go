package cmd

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// dated is an HTTP date.
func dated(at time.Time) string { return at.UTC().Format(http.TimeFormat) }

// within is for scored.expected.
func within(least, most int) func(testing.TB, int) {
	return func(t testing.TB, requests int) {
		t.Helper()
		if requests < least || requests > most {
			t.Errorf("%d requests, not %d to %d", requests, least, most)
		}
	}
}

// publisher answers for one page, given the hour of the test.
type publisher func(hour int, now time.Time, r *http.Request) reply

// scoredPages is a web of publishers, good and peculiar.
func scoredPages(b *web) []*scored {
	var pages []*scored
	publish := func(name, query string, answer publisher) *scored {
		p := b.page(b.host()+feedPath+query, func(now time.Time, r *http.Request) reply {
			a := answer(int(now.Sub(runAt(0).Add(-time.Second))/time.Hour), now, r)
			if a.header == nil {
				a.header = map[string]string{}
			}
			a.header["Set-Cookie"] = "reader=" + name + "; Path=/; Max-Age=999999"
			return a
		})
		s := &scored{page: p, name: name, expected: within(44, 48)}
		pages = append(pages, s)
		return s
	}
	publish("with a query", "?feed=rss2&lang=en", tagged(`"q"`, 48, 0))
	feed := func(name string, answer publisher) *scored { return publish(name, "", answer) }
	scoredValidators(feed)
	scoredDelays(feed)
	return pages
}

// tagged is a publisher whose ETag and Last-Modified change each so many hours (a validator is not given for 0), and never the text.
func tagged(etag string, etagHours, modifiedHours int) publisher {
	return func(hour int, _ time.Time, r *http.Request) reply {
		tag, date := "", ""
		if etagHours > 0 {
			tag = strings.ReplaceAll(etag, "N", fmt.Sprint(hour/etagHours))
		}
		if modifiedHours > 0 {
			date = dated(runAt(-100).Add(time.Duration(hour/modifiedHours) * time.Minute))
		}
		return serving(r, tag, date, rss("", 1, 3))
	}
}

// scoredValidators are the publishers whose validators are peculiar.
func scoredValidators(feed func(string, publisher) *scored) {
	old := runAt(-100)
	feed("steady", tagged(`"s"`, 48, 48))
	feed("touched only", tagged("", 0, 3))
	feed("retagged only", tagged(`"tN"`, 2, 0))
	feed("weak", tagged(`W/"a b"`, 48, 9))
	feed("unquoted", tagged("abc-gzipN", 2, 0))
	feed("changing", func(hour int, _ time.Time, r *http.Request) reply {
		return serving(r, fmt.Sprintf(`"c%d"`, hour/2), dated(runAt(hour/2)), rss("", 1, 3+hour/2))
	})
	feed("tag that goes and comes", func(hour int, _ time.Time, r *http.Request) reply {
		tag := fmt.Sprintf(`"g%d"`, hour/12)
		if hour/12 == 1 {
			tag = ""
		}
		return serving(r, tag, dated(old.Add(time.Duration(hour/12)*time.Hour)), rss("", 1, 3+hour/12))
	})
	feed("new tag in 304", func(hour int, _ time.Time, r *http.Request) reply {
		a := serving(r, r.Header.Get("If-None-Match"), "", rss("", 1, 3))
		a.header["ETag"] = fmt.Sprintf(`"n%d"`, hour/5)
		return a
	})
	feed("nothing in 304", func(hour int, _ time.Time, r *http.Request) reply {
		a := serving(r, fmt.Sprintf(`"o%d"`, hour/9), dated(old), rss("", 1, 3+hour/9))
		if a.status == http.StatusNotModified {
			a.header = nil
		}
		return a
	})
	feed("modified in the future", func(hour int, _ time.Time, r *http.Request) reply {
		return serving(r, fmt.Sprintf(`"f%d"`, hour/2), dated(runAt(0).AddDate(80, 0, 0)), rss("", 1, 3))
	}).unsent = "If-Modified-Since"
}

// scoredDelays are the publishers that ask for time.
func scoredDelays(feed func(string, publisher) *scored) {
	asking := func(head string, header ...string) publisher {
		return func(hour int, _ time.Time, r *http.Request) reply {
			a := serving(r, fmt.Sprintf(`"d%d"`, hour/7), "", rss(head, 1, 3+hour/7))
			for i := 0; i < len(header); i += 2 {
				a.header[header[i]] = header[i+1]
			}
			return a
		}
	}
	hours := func(n int) func(reply) time.Duration {
		return func(reply) time.Duration { return time.Duration(n) * time.Hour }
	}
	refusing := func(from, to, status int, header func(now time.Time) string) publisher {
		return func(hour int, now time.Time, r *http.Request) reply {
			if hour < from || hour > to {
				return asking("")(hour, now, r)
			}
			a := reply{status: status, header: map[string]string{"ETag": `"error"`, "Last-Modified": dated(now)}, body: "no"}
			if header != nil {
				a.header["Retry-After"] = header(now)
			}
			return a
		}
	}
	feed("429 for 3 h", refusing(15, 15, 429, func(time.Time) string { return "10800" })).expected = within(45, 45)
	feed("503 until a date", refusing(18, 18, 503, func(now time.Time) string { return now.UTC().Add(150 * time.Minute).Format(time.RFC1123Z) })).expected = within(45, 46)
	feed("500 for a while", refusing(6, 7, 500, nil)).expected = within(41, 47)

	s := feed("max-age of 4 h", asking("", "Cache-Control", "public, max-age=14400"))
	s.wait, s.expected = hours(4), within(11, 13)
	s = feed("ttl of 2 h", asking("<ttl>120</ttl>"))
	s.wait, s.expected = hours(2), within(22, 25)
	s = feed("four times a day", asking("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"))
	s.wait, s.expected = hours(6), within(7, 9)
	skip := []int{0, 1, 2, 3, 4, 5, 20, 21}
	head := "<skipHours>"
	for _, h := range skip {
		head += fmt.Sprintf("<hour>%d</hour>", h)
	}
	s = feed("skipHours", asking(head+"</skipHours>"))
	s.skipped, s.expected = func(at time.Time) bool { return slices.Contains(skip, at.UTC().Hour()) }, within(30, 35)

	s = feed("no validators", func(int, time.Time, *http.Request) reply { return reply{body: rss("", 1, 3)} })
	s.open, s.expected = true, within(5, 8) // 1, 2, 4, 8, 16, 24 h

	target := feed("redirected to", asking(""))
	s = feed("redirecting", func(int, time.Time, *http.Request) reply {
		return reply{status: http.StatusFound, header: map[string]string{"Location": target.url}}
	})
	s.never = true
}

// TestScorekeeper lets the program read a web for 48 hours of runs and half-checks, among them two overlapping
// runs, a forced one, one that is killed while it waits and one that is killed before it merges. The server's log must be that of a
// perfect reader: conditional after the first request, on time, once a run.
func TestScorekeeper(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	pages := scoredPages(b)
	w := newWorld(t, nil)
	var urls []string
	for _, p := range pages {
		if p.name != "redirected to" {
			urls = append(urls, p.url)
		}
	}
	w.follows(urls...)
	forced := map[int]bool{}
	for hour := range 48 {
		switch hour {
		case 12:
			b.overlap(w, runAt(hour), pages[0].page)
		case 22:
			b.killWaiting(w, runAt(hour), pages[0].page)
		case 30:
			b.tick(runAt(hour))
			w.with("CRAWL_TEST_KILL=merge-begin").run(runAt(hour), "run").wantKilled()
			b.clients.settle(t)
			b.forget(w.kept(hour))
		default:
			b.quietly(w, runAt(hour), "run")
		}
		b.quietly(w, halfAt(hour), "half-check")
		if hour == 16 {
			b.quietly(w, halfAt(hour).Add(10*time.Minute), "run", "--force")
			forced[b.visits] = true
		}
	}
	log := b.requests()
	keepScore(log, pages, forced).wantClean(t)
	counts, unchanged := map[*page]int{}, 0
	for _, r := range log {
		counts[r.page]++
		if r.reply.status == http.StatusNotModified {
			unchanged++
		}
	}
	for _, p := range pages {
		t.Logf("%-24s %d requests", p.name, counts[p.page])
		p.expected(t, counts[p.page])
	}
	t.Logf("%d invocations, %d requests, %d answered 304", b.visits, len(log), unchanged)
	same(t, "leases left", nil, w.query("SELECT id FROM feeds WHERE lease_owner IS NOT NULL"))
}

// overlap starts two runs at once, and holds up the one that works until the other has gone.
func (b *web) overlap(w *world, at time.Time, slow *page) {
	b.t.Helper()
	gate := make(chan struct{})
	b.holdUp(slow, gate)
	b.tick(at)
	ends := make(chan ending)
	for _, p := range []*process{w.start(at, "run"), w.start(at, "run")} {
		go func() { ends <- p.wait() }()
	}
	(<-ends).want(0).wantSilence()
	close(gate)
	(<-ends).want(0).wantSilence()
	b.holdUp(slow, nil)
}

// killWaiting kills a run while it waits for one answer and has stored the others.
func (b *web) killWaiting(w *world, at time.Time, slow *page) {
	b.t.Helper()
	hour := int(at.Sub(runAt(0)) / time.Hour)
	gate := make(chan struct{})
	b.holdUp(slow, gate)
	b.tick(at)
	run := w.start(at, "run")
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		// A lease without a request is that of a feed whose document excludes this hour.
		asked, waiting := b.asked(), []string(nil)
		for _, at := range w.query("SELECT url FROM feeds WHERE lease_owner IS NOT NULL") {
			if slices.Contains(asked, at) {
				waiting = append(waiting, at)
			}
		}
		if len(asked) > 10 && slices.Equal(waiting, []string{slow.url}) {
			break
		}
		if time.Now().After(end) {
			b.t.Fatalf("the run still waits for %v", waiting)
		}
	}
	run.child.Process.Kill()
	run.wait().wantKilled()
	close(gate)
	b.clients.settle(b.t)
	b.holdUp(slow, nil)
	b.forget(w.kept(hour))
}

// holdUp holds back a page's answers until gate is closed.
func (b *web) holdUp(p *page, gate chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.hold = gate
}

// kept lists the feeds whose result of an hour is in the database or in a snapshot file.
func (w *world) kept(hour int) map[string]bool {
	w.t.Helper()
	kept := w.snapshotFeeds(hourOf(hour))
	for _, at := range w.query("SELECT url FROM feeds WHERE fetched_hour = ?", hourOf(hour)) {
		kept[at] = true
	}
	return kept
}

// forget marks the requests of the last visit, which was killed, whose answers it could not keep.
func (b *web) forget(kept map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	hosts := map[string]bool{}
	for at := range kept {
		u, _ := url.Parse(at)
		hosts[u.Host] = true
	}
	for _, r := range b.log {
		u, _ := url.Parse(r.url)
		r.lost = r.lost || r.visit == b.visits && !hosts[u.Host]
	}
}
