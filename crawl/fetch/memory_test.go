package fetch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// unused says whether nothing is held or waited for, as in a new bound.
func (m *memory) unused(fresh *memory) bool {
	return m.small == fresh.small && m.free == fresh.free && m.holder == nil && len(m.waiting) == 0
}

// inUse is what bodies hold of a bound that began so.
func (m *memory) inUse(fresh *memory) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	spare := int64(0)
	if m.holder != nil {
		spare = m.holder.spare
	}
	return fresh.small - m.small + fresh.free - m.free + spare
}

// TestMemoryIsBounded: 64 bodies of 16 MiB side by side, packed and plain, within 64 MiB; none fails and none waits for ever.
func TestMemoryIsBounded(t *testing.T) {
	total, body := int64(64<<20), 16<<20
	if racing {
		total, body = total/8, body/8
	}
	plain := strings.Repeat("0123456789abcdef", body/16)
	small := packed("gzip", plain)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gzip" {
			w.Write([]byte(small))
			return
		}
		w.(http.Flusher).Flush() // no length, so that the client's buffer has to grow
		w.Write([]byte(plain))
	}))
	defer s.Close()
	c := newClient(t, func(o *Options) {
		o.MaxMemory, o.MaxBody = total, int64(body)
		o.Timeout, o.ConnectTimeout, o.HeaderTimeout = time.Hour, time.Hour, time.Hour // 1 GiB takes a busy machine a while
	})
	c.slow = rate{window: time.Hour}
	fresh := newMemory(total, int64(body))
	var most atomic.Int64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				most.Store(max(most.Load(), c.memory.inUse(fresh)))
			}
		}
	}()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			r, err := c.Get(t.Context(), Request{URL: s.URL + map[bool]string{true: "/gzip", false: "/plain"}[i%8 == 0]})
			if err != nil {
				t.Error(err)
				return
			}
			if len(r.Body) != body || r.Truncated != "" {
				t.Errorf("%v", r)
			}
			if held := r.hold.held(); held != int64(cap(r.Body)) {
				t.Errorf("a body in %d bytes holds %d of the bound", cap(r.Body), held)
			}
			r.Release()
		})
	}
	all.Wait()
	close(stop)
	if most.Load() > total || most.Load() == 0 {
		t.Errorf("%d bytes were in use at one time, of %d", most.Load(), total)
	}
	if !c.memory.unused(fresh) {
		t.Errorf("after all: %+v", c.memory)
	}
}

// TestMemoryBelowOneBody: the bound is never less than what one body needs.
func TestMemoryBelowOneBody(t *testing.T) {
	body := []byte(packed("gzip", strings.Repeat("<i/>", 1<<20)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	defer s.Close()
	c := newClient(t, func(o *Options) { o.MaxMemory = 1 })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := c.Get(t.Context(), Request{URL: s.URL})
			if err != nil || len(r.Body) != 4<<20 {
				t.Errorf("%v %v", r, err)
			}
			r.Release()
		})
	}
	all.Wait()
}

// TestMemoryThatNeverComes: a GET that is starved by unreleased bodies fails as our own fault, or with its caller.
func TestMemoryThatNeverComes(t *testing.T) {
	s := newRawServer(t, nil, func(c net.Conn, _ string) { fmt.Fprint(c, ok("", "<rss/>")) })
	c := newClient(t, func(o *Options) { o.MaxMemory = 1 })
	held, err := c.Get(t.Context(), Request{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	patience := c.o.Timeout
	c.o.Timeout = 2 * time.Second // of which the answer takes a part
	_, err = c.Get(t.Context(), Request{URL: s.URL})
	c.o.Timeout = patience
	if e := asError(t, err); e.Kind != KindTimeout || !e.Local || !e.Starved || !e.Answered {
		t.Errorf("%s, local %v: %v", e.Kind, e.Local, e)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err = c.Get(ctx, Request{URL: s.URL}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	held.Release()
	r, err := c.Get(t.Context(), Request{URL: s.URL})
	if err != nil {
		t.Error(err)
	}
	r.Release()
	if len(c.memory.waiting) != 0 || c.memory.holder != nil {
		t.Errorf("memory %+v", c.memory)
	}
}

// TestMemoryModel lets many holds grow, shrink, give up and end at random: nothing is lost, no one is forgotten.
func TestMemoryModel(t *testing.T) {
	const total, body = 20 << 20, 1 << 20
	m := newMemory(total, body)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for seed := range 40 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(seed)))
			for range 100 {
				h := &hold{m: m}
				for n := int64(smallest); n <= body; n *= 2 { // a body that grows
					short, stop := context.WithTimeout(ctx, time.Duration(1+random.IntN(20))*time.Millisecond)
					err := h.take(short, n, func(bool) {})
					stop()
					if err != nil {
						break
					}
					if random.IntN(3) == 0 {
						h.give(n / 2)
					}
				}
				h.release()
				h.release()
			}
		})
	}
	all.Wait()
	if !m.unused(newMemory(total, body)) {
		t.Errorf("at the end: %+v", m)
	}
	if ctx.Err() != nil {
		t.Error("took too long")
	}
}

func TestBufferSizes(t *testing.T) {
	for n, want := range map[int64]int64{
		0: smallest, 1: smallest, smallest: smallest, smallest + 1: 2 * smallest, 1<<20 - 1: 1 << 20, 1 << 20: 1 << 20, 1<<20 + 1: 1<<20 + 1,
		16<<20 + 1: 16<<20 + 1,
	} {
		if got := bufferSize(n); got != want {
			t.Errorf("bufferSize(%d) = %d, want %d", n, got, want)
		}
	}
}
