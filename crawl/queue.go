package crawl

import (
	"container/heap"
	"slices"
	"sort"
	"time"

	"crawl/crawl/fetch"
	"crawl/store"
)

// task is one feed to be fetched in this run.
type task struct {
	store.Candidate
	cat    *category
	host   string
	order  int
	domain string // worked out when first needed
	onward *onward
	turn   int // of its domain, at a host to which a redirect led; 0 at its own
}

// onward is a claimed feed's GET that waits at a host to which a redirect led.
type onward struct {
	claim *store.Claim
	get   *fetch.Onward
	led   time.Time // when that redirect came
}

// claimed is the task's claim, nil if it has none yet.
func (t *task) claimed() *store.Claim {
	if t.onward == nil {
		return nil
	}
	return t.onward.claim
}

// asks is the registrable domain that the task's next request goes to.
func (t *task) asks() string {
	if t.onward == nil {
		return t.registrable()
	}
	return fetch.Domain("http://" + t.host)
}

func (t *task) registrable() string {
	if t.domain == "" {
		t.domain = fetch.Domain(t.URL)
	}
	return t.domain
}

// hostQueue is the feeds of one host that wait, in order: its own, then those that redirects led here, whose domains take turns,
// for anybody can redirect many feeds to one host.
type hostQueue struct {
	name    string
	waiting []*task
	turns   map[string]int // that each domain has had or waits for
	busy    int
	index   int // in the heap; -1 when not there
}

// queue hands out tasks in their order, but never more of a host at a time than it may have: hosts take turns, and a
// host that waits holds up nobody. Not safe for concurrent use.
type queue struct {
	perHost int
	hosts   map[string]*hostQueue
	ready   readyHosts // hosts with a task that may start now, by the order of their first task
	waiting int
}

func newQueue(perHost int) *queue {
	return &queue{perHost: perHost, hosts: map[string]*hostQueue{}}
}

func (q *queue) add(t *task) {
	h := q.hosts[t.host]
	if h == nil {
		h = &hostQueue{name: t.host, index: -1}
		q.hosts[t.host] = h
	}
	if t.onward != nil {
		if h.turns == nil {
			h.turns = map[string]int{}
		}
		h.turns[t.registrable()]++
		t.turn = h.turns[t.registrable()]
	}
	at := sort.Search(len(h.waiting), func(i int) bool { return h.waiting[i].turn > t.turn })
	h.waiting = slices.Insert(h.waiting, at, t)
	q.waiting++
	q.settle(h)
}

// settle puts a host into the heap or takes it out, as its state demands.
func (q *queue) settle(h *hostQueue) {
	able := len(h.waiting) > 0 && h.busy < q.perHost
	switch {
	case able && h.index < 0:
		heap.Push(&q.ready, h)
	case able:
		heap.Fix(&q.ready, h.index)
	case h.index >= 0:
		heap.Remove(&q.ready, h.index)
	}
	if len(h.waiting) == 0 && h.busy == 0 {
		delete(q.hosts, h.name)
	}
}

// take gives up to n tasks that may start now.
func (q *queue) take(n int) []*task {
	var out []*task
	for len(out) < n && len(q.ready) > 0 {
		h := q.ready[0]
		t := h.waiting[0]
		h.waiting = h.waiting[1:]
		h.busy++
		q.waiting--
		out = append(out, t)
		q.settle(h)
	}
	return out
}

// startable is how many tasks take would give at once, up to n.
func (q *queue) startable(n int) int {
	count := 0
	for _, h := range q.ready {
		if count += min(len(h.waiting), q.perHost-h.busy); count >= n {
			return n
		}
	}
	return count
}

// finished tells that a task of the host has ended.
func (q *queue) finished(host string) {
	if h := q.hosts[host]; h != nil {
		h.busy--
		q.settle(h)
	}
}

// drop takes out the waiting tasks that match.
func (q *queue) drop(match func(*task) bool) []*task {
	var out []*task
	for _, h := range q.hosts {
		kept := h.waiting[:0:0]
		for _, t := range h.waiting {
			if match(t) {
				out = append(out, t)
			} else {
				kept = append(kept, t)
			}
		}
		if len(kept) != len(h.waiting) {
			h.waiting = kept
			q.settle(h)
		}
	}
	q.waiting -= len(out)
	return out
}

// chooseTurns keeps the first n tasks, hosts taking turns: the oldest feed of each host, then the second of each, and so
// on, so that a cap is never filled by one host. The rest is returned apart. Both keep their order.
func chooseTurns(tasks []*task, n int) (chosen, rest []*task) {
	if n <= 0 || len(tasks) <= n {
		return tasks, nil
	}
	byTurn := slices.SortedStableFunc(slices.Values(tasks), func(a, b *task) int { return a.LastAttemptAt.Compare(b.LastAttemptAt) })
	turn, turns := map[*task]int{}, map[string]int{}
	for _, t := range byTurn {
		turn[t] = turns[t.host]
		turns[t.host]++
	}
	slices.SortStableFunc(byTurn, func(a, b *task) int { return turn[a] - turn[b] })
	in := map[*task]bool{}
	for _, t := range byTurn[:n] {
		in[t] = true
	}
	for _, t := range tasks {
		if in[t] {
			chosen = append(chosen, t)
		} else {
			rest = append(rest, t)
		}
	}
	return chosen, rest
}

// readyHosts is a heap.
type readyHosts []*hostQueue

func (r readyHosts) Len() int           { return len(r) }
func (r readyHosts) Less(i, j int) bool { return r[i].waiting[0].order < r[j].waiting[0].order }
func (r readyHosts) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].index, r[j].index = i, j
}

// Push implements heap.Interface.
func (r *readyHosts) Push(x any) {
	h := x.(*hostQueue)
	h.index = len(*r)
	*r = append(*r, h)
}

// Pop implements heap.Interface.
func (r *readyHosts) Pop() any {
	old := *r
	h := old[len(old)-1]
	old[len(old)-1] = nil
	h.index = -1
	*r = old[:len(old)-1]
	return h
}
