package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// healthySite has feeds on hosts of their own.
func healthySite(t *testing.T, feeds int) *site {
	t.Helper()
	s := newSite(t)
	for range feeds {
		s.add("News", 3)
	}
	return s
}

func (s *site) all(b behaviour) {
	s.edit(func() {
		for _, f := range s.feeds {
			f.behave = b
		}
	})
}

// wantOutage checks how a run ends whose network is down: code 4, one message, the flag up, and nothing counted against a feed.
func (w *world) wantOutage(e ending) {
	w.t.Helper()
	e.want(4)
	if e.stderr == "" || e.stdout != "" {
		w.t.Fatalf("want a message of %s", e)
	}
	w.unblamed()
	same(w.t, "feeds with a failure", nil, w.query("SELECT url FROM feeds WHERE consecutive_failures <> 0 OR status <> 'active'"))
	same(w.t, "outcome", []string{"outage"}, w.query("SELECT outcome FROM runs ORDER BY id DESC LIMIT 1"))
	if _, err := os.Stat(filepath.Join(w.dir, "run.json")); err != nil {
		w.t.Fatalf("the flag is not up: %v", err)
	}
}

// wantToldOf checks that a monitor is told of an outage, and of whose.
func (w *world) wantToldOf(kind string, at time.Time) {
	w.t.Helper()
	e := w.run(at, "status", "--check").want(1)
	if !regexp.MustCompile(`^crawl: ` + kind + ` [0-9]+ of ` + hourOf(1) + `: outage: our own network looks down.*\n`).MatchString(e.stderr) {
		w.t.Errorf("%s", e)
	}
}

// Feeds that worked an hour ago and are silent all at once say something about us. The half-check finishes once they answer.
func TestSilenceOfAllFeedsIsAnOutage(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 8)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.all(hangs)
	due := w.query("SELECT url, next_fetch_at, last_attempt_at FROM feeds")
	e := w.with("CRAWL_TIMEOUT=1s").run(runAt(1), "run")
	s.all(serves)
	w.wantOutage(e)
	s.cut()
	if len(due) != 8 {
		t.Fatalf("%d feeds", len(due))
	}
	w.silent(halfAt(1), "half-check")
	eachOnce(t, s.cut(), s.feeds)
	w.converged(runAt(1).Add(50 * time.Minute))
}

// A network that goes away in the middle counts against nobody, nor against those who were asked before the last answer came.
func TestAnOutageInTheMiddleCountsAgainstNobody(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	var urls []string
	for range 12 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=6", "CRAWL_TIMEOUT=6s")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	gates := map[string]chan struct{}{}
	for _, u := range urls {
		gates[u] = make(chan struct{})
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], gates[u])
	}
	b.tick(runAt(1))
	run := w.start(runAt(1), "run")
	await(t, "six requests", func() bool { return len(b.asked()) == 6 })
	answers := b.asked()[0]
	close(gates[answers])
	run.wait().want(4)
	same(t, "standing", []string{"0 | active | 12"}, w.query("SELECT consecutive_failures, status, count(*) FROM feeds GROUP BY 1, 2"))
	same(t, "fetched", []string{answers}, w.query("SELECT url FROM feeds WHERE fetched_hour = ?", hourOf(1)))
	w.sound()
}

// So is the same web page from everybody: a hotel's network, a hijacked resolver.
func TestWebPagesInsteadOfAllFeedsAreAnOutage(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 8)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.all(isHTML)
	w.wantOutage(w.run(runAt(1), "run"))
	w.wantToldOf("run", runAt(1).Add(time.Minute))
	w.wantOutage(w.run(halfAt(1), "half-check"))
	w.wantToldOf("half-check", halfAt(1).Add(time.Minute))
	s.all(serves)
	w.silent(halfAt(1).Add(2*time.Minute), "half-check")
	w.converged(halfAt(1).Add(3 * time.Minute))
}

// A few domains that answer with a web page from some hour on, before anybody else answers, ended each run as an outage: now the others
// are heard, and the pages count.
func TestWebPagesOfAFewAreNoOutage(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 30)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.edit(func() {
		for n, f := range s.feeds {
			if n < 6 {
				f.behave = isHTML
			} else {
				f.publish()
				f.delay = 150 * time.Millisecond
			}
		}
	})
	s.cut()
	w.silent(runAt(1), "run")
	eachOnce(t, s.cut(), s.feeds)
	same(t, "standing", []string{"0 | 24", "1 | 6"}, w.query("SELECT consecutive_failures, count(*) FROM feeds GROUP BY 1 ORDER BY 1"))
	w.unblamed()
	w.storedOnce()
	w.nothingLeft()
}

// What an outage says fits its cause: it names a feed that answers with a page, or the proxy and its setting.
func TestAnOutageSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 8)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	proxy := "http://" + s.refuse()
	e := w.with("CRAWL_PROXY="+strings.Replace(proxy, "//", "//me:hidden@", 1)).run(runAt(1), "run")
	w.wantOutage(e)
	if !strings.Contains(e.stderr, "no connection to the proxy "+proxy) || !strings.Contains(e.stderr, "CRAWL_PROXY") || strings.Contains(e.stderr, "hidden") {
		t.Errorf("the proxy: %s", e)
	}
	s.all(isHTML)
	e = w.run(halfAt(1), "half-check")
	w.wantOutage(e)
	if !regexp.MustCompile(`as in: http://127\.\S+: .*\nhint: .*; open http://127\.\S+ in a browser\n$`).MatchString(e.stderr) {
		t.Errorf("pages: %s", e)
	}
}

// Who was in a row that ended a run is asked behind the others the next time: it cannot end each run before anybody else is heard.
func TestWhoMadeAnOutageGoesBehind(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 12)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.all(isHTML)
	w.wantOutage(w.run(runAt(1), "run"))
	if n := w.number("SELECT count(*) FROM feeds WHERE last_attempt_at >= '" + runAt(1).UTC().Format(time.RFC3339) + "'"); n != 12 {
		t.Errorf("%d of 12 feeds were noted as asked", n)
	}
}

// Who was asked in an outage of this hour was not silent by itself, though some had answered before, and the half-check was killed.
func TestAnOutageIsRememberedForTheHour(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 8)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.all(hangs)
	w = w.with("CRAWL_TIMEOUT=1s")
	w.wantOutage(w.run(runAt(1), "run"))
	w.change("INSERT INTO runs (host, kind, hour, started_at, finished_at, outcome) SELECT host, 'half-check', hour, started_at, finished_at, 'killed' FROM runs ORDER BY id DESC LIMIT 1")
	w.change("UPDATE feeds SET last_fetched_at = '" + runAt(1).UTC().Format(time.RFC3339) + "' WHERE id = (SELECT min(id) FROM feeds)")
	w.wantOutage(w.run(halfAt(1), "half-check"))
}

// A few domains that worked once and are silent from then on, with more feeds than there are workers, ended each run as an outage after all
// others had been read.
func TestAFewDomainsThatAreSilentAreNoOutage(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	var silent []string
	for range 4 {
		host := b.host()
		for range 6 {
			silent = append(silent, b.crowdAt(host, 1)...)
			host = b.beside(host)
		}
	}
	urls := slices.Clone(silent)
	for range 40 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=12", "CRAWL_TIMEOUT=6s")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	for _, u := range silent {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], make(chan struct{}))
	}
	b.quietly(w, runAt(1), "run")
	same(t, "standing", []string{"timeout | 1 | 24", "NULL | 0 | 40"},
		w.query("SELECT last_error_kind, consecutive_failures, count(*) FROM feeds GROUP BY 1, 2"))
	w.sound()
}

// A silent host with more feeds than there is time for is counted as far as it was asked, though all are held back when the deadline comes: it was
// hardly ever, and each run and half-check ended at its deadline for good.
func TestASilentHostIsCountedAtTheDeadline(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	silent := b.crowd(60)
	for _, u := range silent {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], make(chan struct{}))
	}
	w := newWorld(t, nil, "CRAWL_TIMEOUT=1s", "CRAWL_DEADLINE=6s")
	w.follows(slices.Concat(silent, b.crowd(1), b.crowd(1))...)
	counted := 0
	for _, kind := range []string{"run", "half-check"} {
		at := map[string]time.Time{"run": runAt(0), "half-check": halfAt(0)}[kind]
		b.visit(w, at, kind).want(3)
		asked := 0
		for _, u := range b.asked() {
			if slices.Contains(silent, u) {
				asked++
			}
		}
		n := w.number("SELECT count(*) FROM feeds WHERE consecutive_failures = 1 AND last_error_kind = 'timeout'")
		if least := max(1, asked-2); n-counted < least { // but for two that were under way
			t.Errorf("%s: %d of %d were counted", kind, n-counted, asked)
		}
		counted = n
	}
	same(t, "leases", nil, w.query("SELECT url FROM feeds WHERE lease_owner IS NOT NULL"))
	w.sound()
}

// A fifth of the list dead and a few healthy ones silent to their time-out, at the end, are no outage.
func TestDeadFeedsAndLateTimeoutsAreNoOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for n := range 60 {
		if n%5 == 0 {
			s.addRefusing("News")
			continue
		}
		s.add("News", 2)
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	if n := w.number("SELECT count(*) FROM feeds WHERE consecutive_failures = 1"); n != 12 {
		t.Fatalf("%d feeds with a failure, not 12", n)
	}
	for hour := 1; hour <= 3; hour += 2 { // by when the last ones are due again, whatever their spread
		s.edit(func() {
			for n, f := range s.feeds {
				if f.behave != refuses {
					f.behave = serves
					f.publish()
				}
				if n%20 == 6*hour%20 && f.behave == serves {
					f.behave = hangs
				}
			}
		})
		w.with("CRAWL_TIMEOUT=4s").silent(runAt(hour), "run") // in which the others must answer
		if n := w.number("SELECT count(*) FROM feeds WHERE last_error_kind = 'timeout'"); n != 3 {
			t.Fatalf("hour %d: %d feeds with a time-out, not 3", hour, n)
		}
		w.storedOnce()
	}
}

// oneLine tells whether a text is a single line that holds another.
func oneLine(text, part string) bool {
	return strings.Count(text, "\n") == 1 && strings.Contains(text, part)
}

// A list of dead feeds alone is no outage: they are counted, and stopped.
func TestDeadFeedsAloneAreCountedAndStopped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	alive := s.add("News", 2)
	for n := range 8 {
		if n%2 == 0 {
			s.addRefusing("News")
			continue
		}
		s.add("News", 2).behave = resets
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	w.run(runAt(0).Add(10*time.Minute), "remove", "--yes", alive.url).want(0)
	for hour := 1; hour < 40; hour++ {
		e := w.run(runAt(hour), "run").want(0) // not a word, but that every feed fails, that many are stopped, or that none is active
		if e.stdout != "" || e.stderr != "" && !oneLine(e.stderr, "every active feed is failing") && !oneLine(e.stderr, "feeds were stopped") &&
			!oneLine(e.stderr, "there is no active feed") {
			t.Errorf("hour %d: %s", hour, e)
		}
	}
	if e := w.run(runAt(40), "run").want(0); !strings.Contains(e.stderr, "there is no active feed") {
		t.Errorf("nothing is said of a list without active feeds: %s", e)
	}
	same(t, "standing", []string{"stopped | 5 | 8"}, w.query("SELECT status, consecutive_failures, count(*) FROM feeds GROUP BY 1, 2"))
	same(t, "without a reason", nil, w.query("SELECT url FROM feeds WHERE stopped_reason IS NULL"))
}

// New feeds of a few domains, more than there are workers and all silent, were an outage after all others had been read, for in the second
// round nobody else was left to answer: each hour ended so, and they were never counted.
func TestManyNewFeedsThatAreSilentAreNoOutage(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	var silent []string
	for range 4 {
		host := b.host()
		for range 8 {
			silent = append(silent, b.crowdAt(host, 2)...)
			host = b.beside(host)
		}
	}
	for _, u := range silent {
		b.holdUp(b.pages[strings.TrimPrefix(u, "http://")], make(chan struct{}))
	}
	urls := slices.Clone(silent)
	for range 10 {
		urls = append(urls, b.crowd(1)...)
	}
	w := newWorld(t, nil, "CRAWL_WORKERS=8", "CRAWL_PER_HOST=1", "CRAWL_TIMEOUT=1s")
	w.follows(urls...)
	b.quietly(w, runAt(0), "run")
	same(t, "requests", urls, b.asked())
	same(t, "standing", []string{"timeout | 1 | 64", "NULL | 0 | 10"},
		w.query("SELECT last_error_kind, consecutive_failures, count(*) FROM feeds GROUP BY 1, 2"))
	w.sound()
}

// If others answered this hour's run, however it ended, a host that is silent for the half-check is silent by itself.
func TestHalfCheckRemembersTheAnswersOfTheRun(t *testing.T) {
	t.Parallel()
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			t.Parallel()
			s := healthySite(t, 12)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			s.edit(func() {
				for _, f := range s.feeds[:6] {
					f.behave = hangs
				}
				for _, f := range s.feeds[6:] {
					f.publish()
				}
			})
			s.cut()
			run := w.start(runAt(1), "run")
			s.await(t, "the requests", arrived(12))
			w.awaitItems(12*3+6, run)
			run.signal(end)
			run.wait()
			s.cut()
			w.with("CRAWL_TIMEOUT=1s").silent(halfAt(1), "half-check")
			eachOnce(t, s.cut(), s.feeds[:6])
			if n := w.number("SELECT count(*) FROM feeds WHERE last_error_kind = 'timeout' AND consecutive_failures = 1"); n != 6 {
				t.Fatalf("%d feeds with a time-out, not 6", n)
			}
			w.converged(halfAt(1).Add(time.Minute))
		})
	}
}
