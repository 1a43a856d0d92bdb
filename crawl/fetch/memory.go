package fetch

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// smallShare is what one GET may have of the room for small bodies, in bytes: enough for 1 MiB in a buffer that has grown.
	smallShare = 3 << 19
	// modest is what a GET may hold, in bytes, without being in anyone's way.
	modest = 256 << 10
)

// memory bounds the bytes of all bodies under way, whatever the number of GETs. So that small bodies need not wait for large ones,
// most of it is for what a GET holds up to smallShare. So that bodies that grow side by side never wait for each other for ever,
// room for one whole body is kept apart for whichever GET found the rest full first: it never waits, and so it ends.
type memory struct {
	mu      sync.Mutex
	small   int64 // free of the room for small bodies
	free    int64 // of the common room
	holder  *hold // who has the spare room; nil: nobody
	waiting []*waiter
}

type waiter struct {
	hold  *hold
	n     int64
	since time.Time
	ready chan struct{}
}

// newMemory makes a bound of total bytes, for bodies of at most body bytes each. A GET needs two at most: the body as it
// came, and decoded.
func newMemory(total, body int64) *memory {
	rest := max(0, total-2*bufferSize(body+1))
	return &memory{small: rest - rest/4, free: rest / 4}
}

// hold is what one GET has of it. Not for concurrent use.
type hold struct {
	m      *memory
	small  int64 // bytes of the room for small bodies
	common int64 // bytes of the common room
	spare  int64 // bytes of the spare room
}

// take takes n bytes more, waiting for them if it must. It calls waits before and after waiting.
func (h *hold) take(ctx context.Context, n int64, waits func(bool)) error {
	h.m.mu.Lock()
	if h.m.grant(h, n, len(h.m.waiting) == 0) {
		h.m.mu.Unlock()
		return nil
	}
	w := &waiter{h, n, time.Now(), make(chan struct{})}
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

// give gives n bytes back, those of the room for small bodies first: what goes on growing has no business there.
func (h *hold) give(n int64) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	small := min(n, h.small)
	spare := min(n-small, h.spare)
	common := n - small - spare
	h.small -= small
	h.spare -= spare
	h.common -= common
	h.m.small += small
	h.m.free += common
	if h.m.holder == h && h.spare == 0 {
		h.m.holder = nil
	}
	h.m.serve()
}

// release gives everything back.
func (h *hold) release() {
	if h != nil {
		h.give(h.held())
	}
}

// held is how many bytes the GET has.
func (h *hold) held() int64 { return h.small + h.common + h.spare }

// obstructs says whether the GET holds much while another one has been waiting for a second.
func (h *hold) obstructs() bool {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	return h.held() > modest && len(h.m.waiting) > 0 && time.Since(h.m.waiting[0].since) >= time.Second
}

// grant tries to give n bytes. The holder of the spare room always gets them, for all of its body fits there. Only small bodies may
// go before those that wait already.
func (m *memory) grant(h *hold, n int64, first bool) bool {
	switch {
	case m.holder == h:
		h.spare += n
	case n <= m.small && h.held()+n <= smallShare:
		m.small -= n
		h.small += n
	case !first:
		return false
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
	first := true
	m.waiting = slices.DeleteFunc(m.waiting, func(w *waiter) bool {
		if !m.grant(w.hold, w.n, first) {
			first = false
			return false
		}
		close(w.ready)
		return true
	})
}
