package fetch

import (
	"context"
	"sync"
)

// visits counts the requests under way to each host (rule R7). Who asks for a host's own feed has seen to its turn and is let through; who was
// redirected there waits while there are as many as may be: anybody can redirect many feeds to one host.
type visits struct {
	limit int
	mu    sync.Mutex
	hosts map[string]*atHost
}

// atHost is one host's.
type atHost struct {
	now     int           // requests under way
	waiting int           // who waits for that to change
	changed chan struct{} // closed at the next end of one
}

func newVisits(limit int) *visits { return &visits{limit: limit, hosts: map[string]*atHost{}} }

// begin counts a request that need not wait. The returned function ends it; calling that again does nothing.
func (v *visits) begin(host string) (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.enter(host, v.at(host))
}

// follow counts a request to where a redirect led, once there are less than the limit. The error is the cause of the end of ctx.
func (v *visits) follow(ctx context.Context, host string) (leave func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.at(host)
	for h.now >= v.limit {
		h.waiting++
		changed := h.changed
		v.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		v.mu.Lock()
		h.waiting--
		if err != nil {
			v.forget(host, h)
			return func() {}, err
		}
	}
	return v.enter(host, h), nil
}

func (v *visits) at(host string) *atHost {
	h := v.hosts[host]
	if h == nil {
		h = &atHost{changed: make(chan struct{})}
		v.hosts[host] = h
	}
	return h
}

func (v *visits) enter(host string, h *atHost) (leave func()) {
	h.now++
	return sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		h.now--
		close(h.changed)
		h.changed = make(chan struct{})
		v.forget(host, h)
	})
}

// forget drops a host that nobody visits or waits for.
func (v *visits) forget(host string, h *atHost) {
	if h.now == 0 && h.waiting == 0 {
		delete(v.hosts, host)
	}
}
