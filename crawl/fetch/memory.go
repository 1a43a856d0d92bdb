package fetch

import (
	"context"
	"slices"
	"sync"
)

// memory bounds the bytes of all bodies under way, whatever the number of GETs. So that bodies that grow side by side never
// wait for each other for ever, room for one whole body is kept apart for whichever GET found the common room full first.
type memory struct {
	mu      sync.Mutex
	free    int64 // of the common room
	holder  *hold // who has the spare room; nil: nobody
	waiting []*waiter
}

type waiter struct {
	hold  *hold
	n     int64
	ready chan struct{}
}

// newMemory makes a bound of total bytes, for bodies of at most body bytes each. A GET needs two at most: the body as it
// came, and decoded.
func newMemory(total, body int64) *memory {
	return &memory{free: max(0, total-2*bufferSize(body+1))}
}

// hold is what one GET has of it. Not for concurrent use.
type hold struct {
	m      *memory
	common int64 // bytes of the common room
	spare  int64 // bytes of the spare room
}

// take takes n bytes more, waiting for them if it must. It calls waits before and after waiting.
func (h *hold) take(ctx context.Context, n int64, waits func(bool)) error {
	h.m.mu.Lock()
	if (h.m.holder == h || len(h.m.waiting) == 0) && h.m.grant(h, n) {
		h.m.mu.Unlock()
		return nil
	}
	w := &waiter{h, n, make(chan struct{})}
	h.m.waiting = append(h.m.waiting, w)
	h.m.mu.Unlock()
	waits(true)
	defer waits(false)
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if i := slices.Index(h.m.waiting, w); i >= 0 { // else it was granted meanwhile, and release gives it back
		h.m.waiting = slices.Delete(h.m.waiting, i, i+1)
		h.m.serve()
	}
	return context.Cause(ctx)
}

// give gives n bytes back.
func (h *hold) give(n int64) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	spare := min(n, h.spare)
	h.spare -= spare
	h.common -= n - spare
	h.m.free += n - spare
	if h.m.holder == h && h.spare == 0 {
		h.m.holder = nil
	}
	h.m.serve()
}

// release gives everything back.
func (h *hold) release() {
	if h != nil {
		h.give(h.common + h.spare)
	}
}

// grant tries to give n bytes. The holder of the spare room always gets them, for all of its body fits there.
func (m *memory) grant(h *hold, n int64) bool {
	switch {
	case m.holder == h:
		h.spare += n
	case n <= m.free:
		m.free -= n
		h.common += n
	case m.holder == nil:
		m.holder = h
		h.spare += n
	default:
		return false
	}
	return true
}

// serve grants what can be granted, in the order of asking.
func (m *memory) serve() {
	for len(m.waiting) > 0 && m.grant(m.waiting[0].hold, m.waiting[0].n) {
		close(m.waiting[0].ready)
		m.waiting = slices.Delete(m.waiting, 0, 1)
	}
}
