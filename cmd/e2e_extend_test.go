package cmd

import (
	"testing"
	"time"
)

// A new feed in a category that is done for the hour is fetched, and whatever else the hour still owes, too: an extended category and
// one that has not begun may share a claim.
func TestExtendingACategoryTakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.add("Done", 2)
	}
	for range 5 {
		s.add("Later", 2)
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	w.silent(runAt(1), "run", "--category", "Done")
	fresh := []*siteFeed{s.add("Done", 2), s.add("Done", 2)}
	w.subscribe(fresh...)
	s.cut()
	w.silent(halfAt(1), "half-check")
	eachOnce(t, s.cut(), s.feeds[3:])
	w.converged(halfAt(1).Add(time.Minute))
}
