package cmd

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A run that was stopped in the middle, on another machine as it were, and goes on after its leases went and another run has done
// its work, writes nothing and requests nothing.
func TestAPausedHolderChangesNothingAfterItsLeases(t *testing.T) {
	t.Parallel()
	s, gate := newSite(t), make(chan struct{})
	for range 6 {
		s.add("News", 4).gate = gate
	}
	paused := newWorld(t, s, "CRAWL_WORKERS=2")
	paused.subscribe()
	old := paused.start(runAt(0), "run")
	s.await(t, "the first two requests", arrived(2))
	old.signal(syscall.SIGSTOP)
	s.edit(func() {
		for _, f := range s.feeds {
			f.gate = nil
			f.retitle(1, "A newer title")
			f.publish()
		}
	})
	s.cut()

	other := newWorld(t, s, "CRAWL_DB="+filepath.Join(paused.dir, "crawl.db"))
	later := runAt(0).Add(12 * time.Minute)
	other.silent(later, "run")
	eachOnce(t, s.cut(), s.feeds)
	paused.storedOnce()
	before := paused.content()

	close(gate)
	old.signal(syscall.SIGCONT)
	old.wait()
	if n := len(s.cut()); n != 0 {
		t.Fatalf("the paused run made %d requests after it went on", n)
	}
	same(t, "rows after the paused run went on", before, paused.content())
	paused.storedOnce()
	paused.sound()
	paused.unblamed()
	paused.nothingToDo(halfAt(0), "half-check")
}

// Two directories with one database, each with its own cron entry, share the work: each feed is asked once an hour, though their clocks
// differ by a minute. The leases of the one that is ahead were taken for void.
func TestTwoMachinesShareTheFeeds(t *testing.T) {
	t.Parallel()
	s, gate := newSite(t), make(chan struct{})
	for range 20 {
		s.add("News", 3).gate = gate
	}
	first := newWorld(t, s, "CRAWL_WORKERS=6")
	first.subscribe()
	second := newWorld(t, s, "CRAWL_WORKERS=6", "CRAWL_DB="+filepath.Join(first.dir, "crawl.db"))
	a := first.start(runAt(0).Add(time.Minute), "run")
	s.await(t, "the first machine's requests", arrived(6))
	b := second.start(runAt(0), "run")
	s.await(t, "the second machine's requests", arrived(12))
	close(gate)
	a.wait().want(0)
	b.wait().want(0)
	eachOnce(t, s.cut(), s.feeds)
	first.storedOnce()
	first.sound()
	first.unblamed()
}
