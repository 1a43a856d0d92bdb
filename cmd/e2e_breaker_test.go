package cmd

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// standing is a feed's "status failures" in the database.
func (w *world) standing(f *siteFeed) string {
	w.t.Helper()
	return w.query("SELECT status || ' ' || consecutive_failures FROM feeds WHERE url = ?", f.url)[0]
}

// failTimes runs hour after hour until a feed has been asked n more times, and returns the hour after the last.
func (w *world) failTimes(hour int, f *siteFeed, n int) int {
	w.t.Helper()
	asked := 0
	for range 40 {
		w.silent(runAt(hour), "run")
		asked += perFeed(w.site.cut())[f]
		hour++
		if asked >= n {
			return hour
		}
	}
	w.t.Fatalf("%s was asked %d times in 40 hours, not %d", f.title, asked, n)
	return 0
}

// Five failures in a row stop a feed, with the reason; nothing but resume starts it again; then it counts from zero.
func TestFiveFailuresStopAFeedUntilSomebodyResumesIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 2)
	bad := s.add("News", 2)
	bad.behave, bad.code = fails, http.StatusInternalServerError
	w := newWorld(t, s)
	w.subscribe()

	hour := w.failTimes(0, bad, 4)
	if got := w.standing(bad); got != "active 4" {
		t.Fatalf("after four failures it is %s", got)
	}
	hour = w.failTimes(hour, bad, 1)
	if got := w.standing(bad); got != "stopped 5" {
		t.Fatalf("after five failures it is %s", got)
	}
	if hour < 14 {
		t.Fatalf("five failures with a back-off of 1, 2, 4 and 8 hours came within %d hours", hour)
	}
	if reason := w.query("SELECT stopped_reason FROM feeds WHERE status = 'stopped'")[0]; !strings.Contains(reason, "500") {
		t.Fatalf("the reason is %q", reason)
	}
	for _, args := range [][]string{{"list", "--stopped"}, {"status"}} {
		if e := w.run(runAt(hour), args...).want(0); !strings.Contains(e.stdout, "500") {
			t.Fatalf("no reason in %s", e)
		}
	}

	s.edit(func() { bad.behave = serves })
	w.silent(runAt(hour), "run", "--force")
	w.silent(halfAt(hour), "half-check")
	w.run(runAt(hour).Add(40*time.Minute), "run", "--failed")
	w.silent(runAt(hour+24), "run")
	w.silent(runAt(hour+400), "run")
	if n := perFeed(s.cut())[bad]; n != 0 {
		t.Fatalf("a stopped feed was asked %d times", n)
	}

	hour += 401
	s.edit(func() { bad.behave = fails })
	w.run(runAt(hour).Add(-time.Minute), "resume", bad.url).want(0)
	if got := w.standing(bad); got != "active 0" {
		t.Fatalf("after resume it is %s", got)
	}
	hour = w.failTimes(hour, bad, 4)
	if got := w.standing(bad); got != "active 4" {
		t.Fatalf("four failures after resume it is %s", got)
	}
	w.failTimes(hour, bad, 1)
	if got := w.standing(bad); got != "stopped 5" {
		t.Fatalf("five failures after resume it is %s", got)
	}
}

// Four failures, then a success, twice over, stop nothing.
func TestFourFailuresAndASuccessStopNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.add("News", 2)
	s.add("News", 2)
	w := newWorld(t, s)
	w.subscribe()
	hour := 0
	for range 2 {
		s.edit(func() { f.behave, f.code = fails, http.StatusNotFound })
		hour = w.failTimes(hour, f, 4)
		if got := w.standing(f); got != "active 4" {
			t.Fatalf("after four failures it is %s", got)
		}
		s.edit(func() { f.behave = serves })
		hour = w.failTimes(hour, f, 1)
		if got := w.standing(f); got != "active 0" {
			t.Fatalf("after a success it is %s", got)
		}
	}
	w.converged(halfAt(hour - 1))
}

// Within one cron hour a failure is counted once, however often it is asked.
func TestAnHourCountsOneFailure(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.add("News", 2)
	f.behave, f.code = fails, http.StatusBadGateway
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	for n := range 5 {
		w.silent(runAt(0).Add(time.Duration(n+1)*time.Minute), "run", "--force")
	}
	if n := len(s.cut()); n != 6 {
		t.Fatalf("%d requests, not 6", n)
	}
	if got := w.standing(f); got != "active 1" {
		t.Fatalf("after six failures in an hour it is %s", got)
	}
}

// Gone is gone: 410 stops at once.
func TestGoneStopsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.add("News", 2)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.edit(func() { f.behave, f.code = fails, http.StatusGone })
	w.silent(runAt(1), "run")
	if got := w.query("SELECT status, stopped_reason FROM feeds"); !strings.HasPrefix(got[0], "stopped | ") || !strings.Contains(got[0], "gone") {
		t.Fatalf("after 410: %s", got)
	}
	w.storedOnce()
}
