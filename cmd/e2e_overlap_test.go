package cmd

import (
	"testing"
	"time"
)

// Of eight runs at once one works; the others end at once and in silence; the site sees each feed once.
func TestOfEightRunsOneWorks(t *testing.T) {
	t.Parallel()
	s, gate := newSite(t), make(chan struct{})
	for range 10 {
		s.add("News", 3).gate = gate
	}
	w := newWorld(t, s)
	w.subscribe()
	var processes []*process
	for range 8 {
		processes = append(processes, w.start(runAt(0), "run"))
	}
	ends := make(chan ending)
	for _, p := range processes {
		go func() { ends <- p.wait() }()
	}
	for range 7 { // the eighth is held up by the gate
		e := <-ends
		e.want(0).wantSilence()
		if e.elapsed > soon {
			t.Fatalf("it took %v to see that another works", e.elapsed)
		}
	}
	s.await(t, "the requests of the one that works", arrived(10))
	w.run(runAt(0).Add(time.Minute), "run", "--fail-if-running").want(6)
	w.silent(runAt(0).Add(time.Minute), "run", "--force")
	w.silent(runAt(0).Add(time.Minute), "half-check")
	close(gate)
	(<-ends).want(0).wantSilence()
	eachOnce(t, s.cut(), s.feeds)
	w.converged(halfAt(0))
}

// Of eight that make the database at once nobody is told of locks, nor is any of eight runs on it: only that there is no feed.
func TestEightAtOnceOnAnEmptyDirectoryKnowNoLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newSite(t))
	var processes []*process
	for range 8 {
		processes = append(processes, w.start(runAt(0), "category", "set", "News", "--ranked"))
	}
	for _, p := range processes {
		p.wait().want(0).wantSilence()
	}
	processes = nil
	for range 8 {
		processes = append(processes, w.start(runAt(0), "run"))
	}
	for _, p := range processes {
		if e := p.wait().want(0); e.stdout != "" || e.stderr != "" && !oneLine(e.stderr, "there is no active feed") {
			t.Errorf("%s", e)
		}
	}
	w.nothingToDo(halfAt(0), "half-check")
}
