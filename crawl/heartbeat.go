package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"crawl/state"
	"crawl/store"
)

const (
	// leaseTime is how long a claim lasts without being renewed.
	leaseTime = 10 * time.Minute
	// maxLease is how far in the future the end of a lease may lie; one beyond was written before a clock was put back, and is void. It is
	// more than a lease lasts, for another machine's clock may be ahead of ours, and ours is read before a wait for the database.
	maxLease = 2 * leaseTime
	// renewAfter is how old leases may become before the heartbeat renews them.
	renewAfter = 2 * time.Minute
	// beatEvery is how often the lock file is told about progress.
	beatEvery = 5 * time.Second
)

// beat is the progress of a session, as its lock file tells it.
type beat struct {
	mu          sync.Mutex
	done, total int
	phase       string
	progress    time.Time
}

func (b *beat) read() (done, total int, phase string, progress time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done, b.total, b.phase, b.progress
}

// step says what is being done, and that something has been done.
func (b *beat) step(phase string, done, total int, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.phase, b.done, b.total, b.progress = phase, done, total, now
}

// inBackground runs work, which ends when still is closed, beside what follows. stop waits for its end.
func inBackground(work func(still <-chan struct{})) (stop func()) {
	still, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		work(still)
	}()
	return func() {
		close(still)
		<-done
	}
}

// heartbeat tells the lock file about progress and renews leases until still is closed. A process that was stopped for longer
// than a lease has lost its right to the feeds: it ends its run with errLeases instead of renewing.
func (s *session) heartbeat(still <-chan struct{}, leases *leases, stop context.CancelCauseFunc) {
	s.eachBeat(still, func() bool {
		if !s.noteBeat(stop) {
			return false
		}
		now := s.cfg.Now()
		switch until := leases.until(); {
		case until.IsZero() || until.Sub(now) > leaseTime-renewAfter:
		case !until.After(now):
			stop(errLeases)
			return false
		default:
			s.renew(leases, now)
		}
		return true
	})
}

// eachBeat calls f every so often, until still is closed or f says no.
func (s *session) eachBeat(still <-chan struct{}, f func() bool) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-still:
			return
		case <-tick.C:
		}
		if !f() {
			return
		}
	}
}

// noteBeat writes the progress into the lock file. If the lock is lost it ends what is under way, and says no.
func (s *session) noteBeat(stop context.CancelCauseFunc) (held bool) {
	err := s.lock.Note(s.holder())
	if errors.Is(err, state.ErrLockLost) {
		stop(fmt.Errorf("stop, for another process may work beside this one: %w", err))
		return false
	}
	if err != nil {
		s.cfg.Log.Warn("the lock file cannot be written", slog.Any("error", err))
	}
	return true
}

func (s *session) renew(leases *leases, now time.Time) {
	until := now.Add(leaseTime)
	if err := s.store.RenewLeases(context.Background(), s.owner(), until); err != nil {
		s.cfg.Log.Warn("leases cannot be renewed", slog.Any("error", err))
		return
	}
	leases.renewed(until)
}

// leases knows until when the feeds under way are ours: claims of different moments have different ends, so it keeps the
// earliest that has not been renewed.
type leases struct {
	mu       sync.Mutex
	earliest time.Time
	now      func() time.Time
}

// take makes a lease for a claim.
func (l *leases) take(owner, boot string) store.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.now().Add(leaseTime)
	if l.earliest.IsZero() {
		l.earliest = until
	}
	return store.Lease{Owner: owner, Boot: boot, Until: until}
}

func (l *leases) until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.earliest
}

func (l *leases) renewed(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earliest = until
}

// valid tells whether a feed of ours may still be asked.
func (l *leases) valid() bool {
	return l.now().Before(l.until())
}
