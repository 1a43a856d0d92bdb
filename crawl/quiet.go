package crawl

import (
	"sync"
	"sync/atomic"
)

// quietDomains are the registrable domains that answered 429: they get no more requests in this run.
type quietDomains struct {
	mu      sync.Mutex
	domains map[string]bool
	fresh   atomic.Bool
}

func (q *quietDomains) add(domain string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.domains == nil {
		q.domains = map[string]bool{}
	}
	if !q.domains[domain] {
		q.domains[domain] = true
		q.fresh.Store(true)
	}
}

func (q *quietDomains) has(domain string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.domains[domain]
}

func (q *quietDomains) any() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.domains) > 0
}

// news tells once that domains were added.
func (q *quietDomains) news() bool { return q.fresh.Swap(false) }
