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
	late   bool   // it goes last among its domain's own
	domain string // worked out when first needed
	onward *onward
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
	return fetch.DomainOf(t.host)
}

func (t *task) registrable() string {
	if t.domain == "" {
		t.domain = fetch.Domain(t.URL)
	}
	return t.domain
}

// hostQueue is the feeds of one host that wait. Its own and those that redirects led here alternate: its own may be more than it answers
// in a run, and anybody can redirect many feeds to one host. Domains of the latter take turns, for the same reason.
type hostQueue struct {
	name    string
	domain  *domainQueue
	own     []*task // in order
	led     line[*guests]
	guests  map[string]*guests // by their domain, with those that had a turn
	waiting int                // of both
	ledNext bool               // the last turn was an own one's
	busy    int
	index   int // in the line of its domain; -1 when not there
}

func (h *hostQueue) rank() (beyond, order int) { return 0, h.first().order }
func (h *hostQueue) place() *int               { return &h.index }

// isLed tells whether the next turn is that of one that was led here.
func (h *hostQueue) isLed() bool { return len(h.own) == 0 || h.ledNext && len(h.led) > 0 }

func (h *hostQueue) first() *task {
	if h.isLed() {
		return h.led[0].waiting[0]
	}
	return h.own[0]
}

func (h *hostQueue) pop() *task {
	t := h.first()
	if h.ledNext = !h.isLed(); h.ledNext {
		h.own = h.own[1:]
	} else {
		g := h.led[0]
		g.had++
		g.waiting = g.waiting[1:]
		h.led.settle(g, len(g.waiting) > 0)
	}
	return t
}

// push lets a task wait.
func (h *hostQueue) push(t *task) {
	h.waiting++
	if t.onward == nil {
		h.own = append(h.own, t)
		return
	}
	g := h.guests[t.registrable()]
	if g == nil {
		if h.guests == nil {
			h.guests = map[string]*guests{}
		}
		g = &guests{index: -1}
		h.guests[t.registrable()] = g
	}
	at := sort.Search(len(g.waiting), func(i int) bool { return g.waiting[i].order > t.order })
	g.waiting = slices.Insert(g.waiting, at, t)
	h.led.settle(g, true)
}

// guests are the feeds of one domain that redirects led to a host of another's and that wait there, in order, however they came.
type guests struct {
	waiting []*task
	had     int // turns
	index   int // in the host's line; -1 when not there
}

func (g *guests) rank() (had, order int) { return g.had, g.waiting[0].order }
func (g *guests) place() *int            { return &g.index }

// domainQueue is the hosts of one registrable domain. Its share is what one host may have. Of its own feeds those that asked for quiet
// last time start when all others have: should they do so again, it silences no neighbour. Those that redirects led here are not waited
// for, for anybody can lead many; and a domain's own may be more than it answers in a run, so that none is late for longer than lateFor.
type domainQueue struct {
	name  string
	ready line[*hostQueue] // hosts with a task that may start now, by the order of their first task
	own   int              // that wait at its hosts
	late  []*task          // of its own, to be added there when no other waits
	share int
	busy  int
	index int // in the queue's line; -1 when not there
}

// rank is how far the next task would take the domain beyond its share, and that task's order.
func (d *domainQueue) rank() (beyond, order int) {
	_, order = d.ready[0].rank()
	return max(0, d.busy+1-d.share), order
}

func (d *domainQueue) place() *int { return &d.index }

// queue hands out tasks in their order, but never more of a host at a time than it may have: hosts take turns, and a
// host that waits holds up nobody. Nor does a domain, for anybody can give one many hosts: it has its share in the common order,
// and more only after those that have less. Not safe for concurrent use.
type queue struct {
	perHost int
	hosts   map[string]*hostQueue
	domains map[string]*domainQueue
	ready   line[*domainQueue] // domains with a host in their line
	lates   []*domainQueue     // those of whose own feeds perhaps only late ones wait
	waiting int
}

func newQueue(perHost int) *queue {
	return &queue{perHost: perHost, hosts: map[string]*hostQueue{}, domains: map[string]*domainQueue{}}
}

func (q *queue) add(t *task) {
	q.waiting++
	d := q.domain(t.asks())
	if t.late && t.onward == nil {
		d.late = append(d.late, t)
		q.lates = append(q.lates, d)
		return
	}
	q.put(d, t)
}

// put lets a task wait at its host.
func (q *queue) put(d *domainQueue, t *task) {
	h := q.hosts[t.host]
	if h == nil {
		h = &hostQueue{name: t.host, domain: d, index: -1}
		q.hosts[t.host] = h
	}
	if t.onward == nil {
		d.own++
	}
	h.push(t)
	q.settle(h)
}

// putLate lets the late ones of domains wait at their hosts where no other of the domain's own does any more.
func (q *queue) putLate() {
	for _, d := range q.lates {
		if d.own == 0 {
			late := d.late
			d.late = nil
			for _, t := range late {
				q.put(d, t)
			}
		}
	}
	q.lates = nil
}

// gone notes that a task waits no longer at a host.
func (q *queue) gone(h *hostQueue, t *task) {
	q.waiting--
	h.waiting--
	if t.onward != nil {
		return
	}
	d := h.domain
	if d.own--; d.own == 0 && len(d.late) > 0 {
		q.lates = append(q.lates, d)
	}
}

func (q *queue) domain(name string) *domainQueue {
	d := q.domains[name]
	if d == nil {
		d = &domainQueue{name: name, share: q.perHost, index: -1}
		q.domains[name] = d
	}
	return d
}

// settle puts a host and its domain into their lines or takes them out, as their state demands.
func (q *queue) settle(h *hostQueue) {
	d := h.domain
	d.ready.settle(h, h.waiting > 0 && h.busy < q.perHost)
	q.ready.settle(d, len(d.ready) > 0)
	if h.waiting == 0 && h.busy == 0 {
		delete(q.hosts, h.name)
	}
	q.forget(d)
}

// forget lets go of a domain for which nothing waits and nothing is under way.
func (q *queue) forget(d *domainQueue) {
	if len(d.ready) == 0 && len(d.late) == 0 && d.busy == 0 {
		delete(q.domains, d.name)
	}
}

// take gives up to n tasks that may start now.
func (q *queue) take(n int) []*task {
	q.putLate()
	var out []*task
	for len(out) < n && len(q.ready) > 0 {
		d := q.ready[0]
		h := d.ready[0]
		t := h.pop()
		h.busy++
		d.busy++
		q.gone(h, t)
		out = append(out, t)
		q.settle(h)
	}
	return out
}

// startable is how many tasks take would give at once, up to n.
func (q *queue) startable(n int) int {
	q.putLate()
	count := 0
	for _, d := range q.ready {
		for _, h := range d.ready {
			if count += min(h.waiting, q.perHost-h.busy); count >= n {
				return n
			}
		}
	}
	return count
}

// finished tells that a task of the host has ended.
func (q *queue) finished(host string) {
	if h := q.hosts[host]; h != nil {
		h.busy--
		h.domain.busy--
		q.settle(h)
	}
}

// drop takes out the waiting tasks that match.
func (q *queue) drop(match func(*task) bool) []*task {
	var out []*task
	part := func(tasks []*task) (kept []*task) {
		for _, t := range tasks {
			if match(t) {
				out = append(out, t)
			} else {
				kept = append(kept, t)
			}
		}
		return kept
	}
	for _, d := range q.domains {
		before := len(out)
		d.late = part(d.late)
		q.waiting -= len(out) - before
		q.forget(d)
	}
	for _, h := range q.hosts {
		before := len(out)
		h.own = part(h.own)
		for _, g := range h.guests {
			g.waiting = part(g.waiting)
			h.led.settle(g, len(g.waiting) > 0)
		}
		for _, t := range out[before:] {
			q.gone(h, t)
		}
		q.settle(h)
	}
	return out
}

// chooseTurns keeps the first n tasks, domains taking turns and within each its hosts: the oldest feed of each domain, then the second of
// each, and so on, so that a cap is never filled by one host, nor by one domain of many. Of one turn the oldest come first. The rest is
// returned apart. Both keep their order.
func chooseTurns(tasks []*task, n int) (chosen, rest []*task) {
	if n <= 0 || len(tasks) <= n {
		return tasks, nil
	}
	byAge := slices.SortedStableFunc(slices.Values(tasks), func(a, b *task) int { return a.LastAttemptAt.Compare(b.LastAttemptAt) })
	ofHosts := byTurn(byAge, byAge, func(t *task) string { return t.host })
	in := map[*task]bool{}
	for _, t := range byTurn(byAge, ofHosts, (*task).registrable)[:n] {
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

// byTurn sorts tasks by the turn that each has among those of its group in line.
func byTurn(tasks, line []*task, group func(*task) string) []*task {
	turn, turns := map[*task]int{}, map[string]int{}
	for _, t := range line {
		turn[t] = turns[group(t)]
		turns[group(t)]++
	}
	return slices.SortedStableFunc(slices.Values(tasks), func(a, b *task) int { return turn[a] - turn[b] })
}

// turn is what waits in a line.
type turn interface {
	rank() (had, order int) // the smaller is before the larger
	place() *int            // its index in the line, for the line to write
}

// line is a heap of what may start now, the first in front.
type line[T turn] []T

// settle puts x in or takes it out, and sees to it that it is where it belongs.
func (l *line[T]) settle(x T, able bool) {
	switch at := *x.place(); {
	case able && at < 0:
		heap.Push(l, x)
	case able:
		heap.Fix(l, at)
	case at >= 0:
		heap.Remove(l, at)
	}
}

func (l line[T]) Len() int { return len(l) }
func (l line[T]) Less(i, j int) bool {
	b, o := l[i].rank()
	beyond, order := l[j].rank()
	return b < beyond || b == beyond && o < order
}
func (l line[T]) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	*l[i].place(), *l[j].place() = i, j
}

// Push implements heap.Interface.
func (l *line[T]) Push(x any) {
	t := x.(T)
	*t.place() = len(*l)
	*l = append(*l, t)
}

// Pop implements heap.Interface.
func (l *line[T]) Pop() any {
	old := *l
	last := len(old) - 1
	t := old[last]
	clear(old[last:])
	*t.place() = -1
	*l = old[:last]
	return t
}
