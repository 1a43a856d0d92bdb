package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// soon bounds what is promised within a second or two, on a machine that does much else at the same time. It is less than the 20 seconds
// for which an answer is waited for, and the 30 for another program's lock: who waits those out is too late.
const soon = 15 * time.Second

// slowSite has feeds that answer at once and others whose answers wait at a gate.
func slowSite(t *testing.T) (s *site, gate chan struct{}, quick int) {
	t.Helper()
	s, gate, quick = newSite(t), make(chan struct{}), 0
	for n := range 12 {
		f := s.add([]string{"News", "Art"}[n%2], 3)
		if n < 6 {
			quick++
			continue
		}
		f.gate = gate
	}
	return s, gate, quick
}

// `crawl kill` stops a run at once; what was fetched is kept, the hour's half-check stays away, the next hour's run does everything.
func TestKillStopsTheRunAndKeepsWhatWasFetched(t *testing.T) {
	t.Parallel()
	s, gate, quick := slowSite(t)
	w := newWorld(t, s)
	w.subscribe()
	run := w.start(runAt(0), "run")
	s.await(t, "the slow requests", arrived(12))
	w.awaitItems(3*quick, run)

	began := time.Now()
	w.run(runAt(0).Add(time.Minute), "kill").want(0)
	run.wait().want(5)
	if took := time.Since(began); took > soon {
		t.Fatalf("the run took %v to stop", took)
	}
	eachOnce(t, s.cut(), s.feeds)
	w.storedOnce()
	w.sound()
	w.unblamed()

	close(gate)
	w.nothingToDo(halfAt(0), "half-check")
	why := w.run(halfAt(0), "half-check", "-v").want(0)
	if !strings.Contains(why.stderr, "kill") {
		t.Fatalf("the half-check does not say why it does nothing: %s", why)
	}
	if log := s.cut(); len(log) != 0 {
		t.Fatalf("%d requests after the kill", len(log))
	}

	w.silent(runAt(1), "run")
	eachOnce(t, s.cut(), s.feeds)
	w.converged(halfAt(1))
}

// With nothing running, kill still keeps this hour's half-check away, and the next run works.
func TestKillWithNothingRunningHoldsUntilTheNextRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 3)
	w := newWorld(t, s)
	w.subscribe()
	w.run(runAt(0), "kill").want(0)
	w.nothingToDo(halfAt(0), "half-check")
	w.silent(runAt(1), "run")
	eachOnce(t, s.cut(), s.feeds)
	w.converged(halfAt(1))
}

// A signal stops a run as kill does, but only that process: the half-check goes on with what is left, and asks nothing twice that it has.
func TestASignalStopsTheRunAndTheHalfCheckGoesOn(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		s, gate, quick := slowSite(t)
		w := newWorld(t, s)
		w.subscribe()
		run := w.start(runAt(0), "run")
		s.await(t, "the slow requests", arrived(12))
		w.awaitItems(3*quick, run)
		began := time.Now()
		run.signal(signal)
		run.wait().want(5)
		if took := time.Since(began); took > soon {
			t.Fatalf("the run took %v to stop", took)
		}
		w.storedOnce()
		close(gate)
		s.cut()
		w.silent(halfAt(0), "half-check")
		eachOnce(t, s.cut(), s.feeds[quick:])
		w.converged(halfAt(0).Add(time.Minute))
	}
}

// A second signal ends the process at once, though it hangs where no first one reaches it; the half-check does what was left.
func TestASecondSignalEndsTheRunAtOnce(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	stalled := filepath.Join(t.TempDir(), "stalled")
	run := w.with("CRAWL_TEST_STALL=run-started=1m", "CRAWL_TEST_STALLED="+stalled).start(runAt(0), "run")
	await(t, "the run to where it hangs", func() bool { _, err := os.Stat(stalled); return err == nil })
	began := time.Now()
	run.signal(syscall.SIGTERM)
	run.signal(syscall.SIGHUP) // another, for two of one kind may be one
	if e := run.wait().want(5); time.Since(began) > soon {
		t.Fatalf("not at once: %s", e)
	}
	w.silent(halfAt(0), "half-check")
	eachOnce(t, s.cut(), s.feeds)
	w.converged(halfAt(0).Add(time.Minute))
}

// At its deadline a run stops with code 3 and the half-check goes on; at the half-check's the hour is closed all the same, its steps are
// done, and the feeds that were left are asked in the next hour.
func TestTheDeadlineEndsTheHour(t *testing.T) {
	t.Parallel()
	s, gate, quick := slowSite(t)
	w := newWorld(t, s)
	w.subscribe()
	shut := gate
	open := make(chan struct{})
	close(open)
	doors := func(gate chan struct{}) {
		s.edit(func() {
			for _, f := range s.feeds[quick:] {
				f.gate = gate
			}
		})
	}
	doors(open)
	w.silent(runAt(0), "run")
	s.cut()
	doors(shut)
	e := w.run(runAt(1), "run", "--deadline", "4s").want(3)
	if !strings.HasSuffix(e.stderr, "; the half-check goes on\nhint: crawl half-check goes on at once, for those who cannot wait for cron\n") || e.elapsed > soon {
		t.Fatalf("want a message, soon, of %s", e)
	}
	w.storedOnce()
	eachOnce(t, s.cut(), s.feeds)
	const left = "the deadline is reached; it leaves 6 feeds"
	if e := w.run(halfAt(1), "half-check", "--deadline", "4s").want(3); !strings.Contains(e.stderr, left+"\nhint: crawl run fetches at once ") {
		t.Fatalf("the half-check is said to go on after itself: %s", e)
	}
	eachOnce(t, s.cut(), s.feeds[quick:])
	same(t, "steps", []string{"optimize"}, w.query("SELECT name FROM steps WHERE hour = ?", hourOf(1)))
	w.converged(halfAt(1).Add(time.Minute))
	if e := w.run(halfAt(1).Add(time.Minute), "status", "--check").want(1); !strings.Contains(e.stderr, "the half-check left 6 feeds\nhint: crawl run ") {
		t.Fatalf("a monitor is not told what is left: %s", e)
	}
	if e := w.run(halfAt(1).Add(time.Minute), "status").want(0); !strings.Contains(e.stdout, ", not complete: the half-check left 6 feeds\n") || !strings.Contains(e.stdout, left) {
		t.Fatalf("status does not say what is left: %s", e)
	}
	doors(open)
	w.silent(runAt(2), "run")
	w.silent(halfAt(2), "status", "--check")
	asked := perFeed(s.cut())
	for _, f := range s.feeds[quick:] {
		if asked[f] != 1 {
			t.Fatalf("%s was left, and then asked %d times", f.title, asked[f])
		}
	}
	w.converged(halfAt(2))
	doors(shut)
	late := w.run(halfAt(2).Add(time.Minute), "run", "--feed", s.feeds[quick].url, "--deadline", "4s").want(3)
	if !oneLine(late.stderr, "a run fetches what is left when it is due") {
		t.Fatalf("the half-check is said to go on with feeds that were named: %s", late)
	}
}

// What the half-check left is left until each of those feeds was fetched, whatever runs of the hour follow: some feeds' alone, the
// hour's, which fetches those that were never fetched, and a forced one.
func TestWhatTheDeadlineLeftIsToldUntilItIsFetched(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 3) // which was fetched in the hour before: it is due again, and not new
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	fresh := []*siteFeed{s.add("News", 3), s.add("News", 3), s.add("Art", 3)}
	w.subscribe(fresh...)
	gate := make(chan struct{})
	s.edit(func() {
		for _, f := range s.feeds {
			f.gate = gate
		}
	})
	at := halfAt(1)
	e := w.run(at, "half-check", "--deadline", "4s").want(3)
	if !strings.HasPrefix(e.stderr, "crawl: unfinished: the deadline is reached; it leaves 4 feeds\nhint: crawl run fetches at once ") {
		t.Fatalf("the half-check does not say what it leaves: %s", e)
	}
	close(gate)
	at = at.Add(time.Minute)
	w.tellsLeft(at, "4 feeds")
	s.cut()
	for _, step := range []struct {
		args  []string
		asked []*siteFeed
		left  string
	}{
		{[]string{"--feed", fresh[0].url}, fresh[:1], "3 feeds"},
		{[]string{"--feed", fresh[0].url}, fresh[:1], "3 feeds"},
		{[]string{"--category", "Art"}, fresh[2:], "2 feeds"},
		{nil, fresh[1:2], "1 feed"},
		{nil, nil, "1 feed"},
		{[]string{"--force"}, s.feeds, ""},
	} {
		w.silent(at, append([]string{"run"}, step.args...)...)
		eachOnce(t, s.cut(), step.asked)
		at = at.Add(time.Minute)
		w.tellsLeft(at, step.left)
	}
}

// tellsLeft checks what a monitor and a person are told that a half-check has left; "" is nothing.
func (w *world) tellsLeft(at time.Time, left string) {
	w.t.Helper()
	if left == "" {
		w.silent(at, "status", "--check")
		return
	}
	if e := w.run(at, "status", "--check").want(1); !strings.Contains(e.stderr, "is not complete: the half-check left "+left+"\nhint: crawl run ") {
		w.t.Fatalf("%s that are left are not told: %s", left, e)
	}
	if e := w.run(at, "status").want(0); !strings.Contains(e.stdout, ", not complete: the half-check left "+left+"\n") {
		w.t.Fatalf("%s that are left are not shown: %s", left, e)
	}
}

// Feeds of a forced run, and resumed ones, are left although they had an outcome earlier in the hour: it is what came since that counts. They
// were not told. That the next hour fetches them anyway was not so.
func TestWhatIsLeftOfAForcedRunIsTold(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*world){
		"forced": func(w *world) { w.run(runAt(0).Add(time.Minute), "run", "--force", "--deadline", "1s").want(3) },
		"forced after the clock was ahead": func(w *world) {
			w.change("UPDATE feeds SET last_fetched_at = '2027-11-30T10:30:05Z', fetched_hour = '2027-11-30T10:30:00Z'")
			w.run(runAt(0).Add(time.Minute), "run", "--force", "--deadline", "1s").want(3)
		},
		"forced, and nobody asked": func(w *world) {
			w.with("CRAWL_TEST_KILL=flag-up").run(runAt(0).Add(time.Minute), "run", "--force").wantKilled()
		},
		"resumed": func(w *world) {
			w.change("UPDATE feeds SET last_fetched_at = '" + runAt(0).Add(9*time.Second).UTC().Format(time.RFC3339) + "'") // as if it had been slow
			w.run(runAt(0).Add(time.Minute), "stop", "1", "2", "3").want(0)
			w.run(runAt(0).Add(time.Minute), "resume", "--category", "News").want(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthySite(t, 3)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			gate := make(chan struct{})
			s.edit(func() {
				for _, f := range s.feeds {
					f.gate = gate
				}
			})
			again(w)
			at := halfAt(0)
			e := w.run(at, "half-check", "--deadline", "1s").want(3)
			if !strings.Contains(e.stderr, "it leaves 3 feeds\nhint: ") || !strings.Contains(e.stderr, "; the next hour fetches those that are due; ") {
				t.Errorf("%s", e)
			}
			close(gate)
			s.edit(func() { s.feeds[0].behave = resets }) // a failure is an outcome too
			fresh := s.add("News", 3)
			for _, step := range []struct {
				args []string
				left string
			}{
				{[]string{"status"}, "3 feeds"},
				{[]string{"run", "--feed", s.feeds[0].url}, "2 feeds"},
				{[]string{"import", s.opml(fresh)}, "2 feeds"},
				{[]string{"run", "--category", "News"}, "2 feeds"}, // which extends the snapshot, and asks those that are due at once
				{[]string{"run", "--force"}, ""},
			} {
				at = at.Add(time.Minute)
				w.run(at, step.args...).want(0)
				left := step.left
				if name == "resumed" && slices.Contains(step.args, "--category") {
					left = ""
				}
				w.tellsLeft(at, left)
			}
		})
	}
}

// What was left is told as well after a half-check that died once it had ended the hour: the next one finds nothing but the steps to do.
func TestWhatADeadHalfCheckLeftIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.add("News", 3)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	gate := make(chan struct{})
	s.edit(func() { f.gate = gate })
	w.with("CRAWL_TEST_KILL=step-before-optimize").run(halfAt(1), "half-check", "--deadline", "4s").wantKilled()
	close(gate)
	w.silent(halfAt(1).Add(time.Minute), "half-check")
	if e := w.run(halfAt(1).Add(2*time.Minute), "status", "--check").want(1); !strings.Contains(e.stderr, ": the half-check left 1 feed\nhint: crawl run ") {
		t.Errorf("%s", e)
	}
	w.silent(runAt(2), "run")
	w.silent(runAt(2).Add(time.Minute), "status", "--check")
}
