package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawl/store"
)

func tasksOf(hosts ...string) []*task {
	out := make([]*task, len(hosts))
	for i, h := range hosts {
		out[i] = &task{Candidate: store.Candidate{ID: int64(i), URL: "http://" + h, LastAttemptAt: time.Unix(int64(i), 0)}, host: h, order: i}
	}
	return out
}

// 150 due feeds on one host and 10 on others, at most 100: all ten others are among them.
func TestACapIsNeverFilledByOneHost(t *testing.T) {
	var hosts []string
	for range 150 {
		hosts = append(hosts, "big")
	}
	for i := range 10 {
		hosts = append(hosts, fmt.Sprintf("small%d", i))
	}
	chosen, rest := chooseTurns(tasksOf(hosts...), 100)
	if len(chosen) != 100 || len(rest) != 60 {
		t.Fatalf("%d chosen, %d left out", len(chosen), len(rest))
	}
	small := 0
	for _, c := range chosen {
		if c.host != "big" {
			small++
		}
	}
	if small != 10 {
		t.Errorf("%d of the 10 small hosts were chosen", small)
	}
}

func TestChooseTurnsTakesTheOldestOfEachHost(t *testing.T) {
	chosen, _ := chooseTurns(tasksOf("a", "a", "b", "a", "b", "c"), 3)
	for i, want := range []int64{0, 2, 5} {
		if chosen[i].ID != want {
			t.Errorf("chosen[%d] is feed %d, want %d", i, chosen[i].ID, want)
		}
	}
}

// Whatever the hosts: a domain of which feeds are left out has as many as any other, or one less; within it so has a host; and the oldest
// come first, so that over hours all are asked. 150 hosts of one domain filled the cap before any other was asked.
func TestACapIsSharedByDomains(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		tasks := tasksOf(randomHosts(r, 100)...)
		r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
		n := 1 + r.IntN(30)
		asked := map[int64]bool{}
		for hour := range tasks { // in each the oldest at least
			chosen, rest := chooseTurns(tasks, n)
			if len(chosen) != n || len(rest) != len(tasks)-n {
				t.Fatalf("seed %d: %d chosen, %d left out", seed, len(chosen), len(rest))
			}
			had := map[string]int{}
			for _, c := range chosen {
				had[c.registrable()]++
				had[c.host]++
			}
			for _, left := range rest {
				for _, c := range chosen {
					domains := had[left.registrable()] < had[c.registrable()]-1
					hosts := left.registrable() == c.registrable() && had[left.host] < had[c.host]-1
					older := left.LastAttemptAt.Before(c.LastAttemptAt)
					if domains || hosts || older && left.host == c.host {
						t.Fatalf("seed %d: %v was chosen before %v", seed, c, left)
					}
				}
			}
			oldest := slices.MinFunc(tasks, func(a, b *task) int { return a.LastAttemptAt.Compare(b.LastAttemptAt) })
			if !slices.Contains(chosen, oldest) {
				t.Fatalf("seed %d: the oldest was left out", seed)
			}
			for _, c := range chosen {
				asked[c.ID] = true
				c.LastAttemptAt = time.Unix(int64(1000*(hour+1))+c.ID, 0)
			}
		}
		if len(asked) != len(tasks) {
			t.Errorf("seed %d: %d of %d feeds were asked in as many hours", seed, len(asked), len(tasks))
		}
	}
}

// Tasks come by category; within a host's turns only the last attempt counts, so that whom a cap left out is first next time.
func TestWhomACapLeavesOutIsFirstNextTime(t *testing.T) {
	tasks := tasksOf("a", "a", "a", "b", "b", "b")
	asked := map[int64]int{}
	for hour := range 6 {
		chosen, _ := chooseTurns(tasks, 2)
		for _, c := range chosen {
			asked[c.ID]++
			c.LastAttemptAt = time.Unix(int64(100*(hour+1)), 0)
		}
	}
	for _, tk := range tasks {
		if asked[tk.ID] != 2 {
			t.Errorf("feed %d was asked %d times in 6 hours of 2 feeds, not 2", tk.ID, asked[tk.ID])
		}
	}
}

// Whatever the order of ends: no host has more at a time than it may, every task comes out once wherever redirects lead it, and each is the
// one that the rules name.
func TestQueueKeepsItsBounds(t *testing.T) {
	const perHost = 2
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		q := newQueue(perHost)
		n := 100
		m := &modelQueue{perHost: perHost, waiting: tasksOf(randomHosts(r, n)...), busy: map[string]int{}, hosts: map[string]*modelHost{}}
		for _, tk := range m.waiting {
			tk.late = r.IntN(8) == 0
			q.add(tk)
		}
		var under []*task
		for ends := 0; len(m.waiting) > 0 || len(under) > 0; ends++ {
			m.look()
			most := 1 + r.IntN(5)
			want := q.startable(most)
			got := q.take(most)
			if len(got) != want {
				t.Fatalf("seed %d: startable said %d, take gave %d", seed, want, len(got))
			}
			for _, tk := range got {
				if right := m.next(); tk != right {
					t.Fatalf("seed %d: take gave %v, not %v", seed, tk, right)
				}
				m.start(tk)
				under = append(under, tk)
			}
			if q.waiting != len(m.waiting) {
				t.Fatalf("seed %d: %d wait, not %d", seed, q.waiting, len(m.waiting))
			}
			if more := m.next(); len(got) < most && more != nil {
				t.Fatalf("seed %d: take did not give %v", seed, more)
			}
			i := r.IntN(len(under))
			tk := under[i]
			under = slices.Delete(under, i, i+1)
			m.end(tk)
			q.finished(tk.host)
			if ends < 3*n && r.IntN(2) == 0 {
				tk.host, tk.onward = randomHosts(r, 1)[0], &onward{}
				m.waiting = append(m.waiting, tk)
				q.add(tk)
			}
		}
		if q.waiting != 0 || len(q.hosts) != 0 || len(q.domains) != 0 || len(q.ready) != 0 {
			t.Errorf("seed %d: %d waiting, %d hosts and %d domains left", seed, q.waiting, len(q.hosts), len(q.domains))
		}
	}
}

// modelQueue is a queue, slow and plain.
type modelQueue struct {
	perHost int
	waiting []*task
	busy    map[string]int // by host and by domain
	early   map[string]bool
	hosts   map[string]*modelHost // for which something waits or is under way
}

// modelHost knows what turns there were.
type modelHost struct {
	ledNext bool
	had     map[string]int // by domain, of those that were led there
}

// look notes which domains have feeds of their own that did not ask for quiet last time: for these the others wait.
func (m *modelQueue) look() {
	m.early = map[string]bool{}
	for _, tk := range m.waiting {
		m.early[tk.asks()] = m.early[tk.asks()] || tk.onward == nil && !tk.late
	}
}

func (m *modelQueue) isAt(tk *task, host string) bool {
	return tk.host == host && !(tk.onward == nil && tk.late && m.early[tk.asks()])
}

// next is of the domains that are least beyond their share the oldest of their hosts' firsts.
func (m *modelQueue) next() (first *task) {
	over := func(tk *task) int { return max(0, m.busy[tk.asks()]+1-m.perHost) }
	for _, tk := range m.waiting {
		if m.busy[tk.host] < m.perHost && tk == m.firstOf(tk.host) &&
			(first == nil || over(tk) < over(first) || over(tk) == over(first) && tk.order < first.order) {
			first = tk
		}
	}
	return first
}

// firstOf is a host's next: its own oldest and the oldest of the domain that had the fewest turns there alternate.
func (m *modelQueue) firstOf(host string) *task {
	var own, led *task
	h := m.hosts[host]
	if h == nil {
		h = &modelHost{}
	}
	for _, tk := range m.waiting {
		switch {
		case !m.isAt(tk, host):
		case tk.onward == nil:
			if own == nil || tk.order < own.order {
				own = tk
			}
		case led == nil || h.had[tk.registrable()] < h.had[led.registrable()] ||
			h.had[tk.registrable()] == h.had[led.registrable()] && tk.order < led.order:
			led = tk
		}
	}
	if own == nil || h.ledNext && led != nil {
		return led
	}
	return own
}

func (m *modelQueue) start(tk *task) {
	m.waiting = slices.DeleteFunc(m.waiting, func(other *task) bool { return other == tk })
	m.busy[tk.host]++
	m.busy[tk.asks()]++
	h := m.hosts[tk.host]
	if h == nil {
		h = &modelHost{had: map[string]int{}}
		m.hosts[tk.host] = h
	}
	if h.ledNext = tk.onward == nil; !h.ledNext {
		h.had[tk.registrable()]++
	}
}

func (m *modelQueue) end(tk *task) {
	m.busy[tk.host]--
	m.busy[tk.asks()]--
	if m.busy[tk.host] == 0 && !slices.ContainsFunc(m.waiting, func(other *task) bool { return m.isAt(other, tk.host) }) {
		delete(m.hosts, tk.host)
	}
}

// randomHosts are of a few domains, some of which have many hosts.
func randomHosts(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		d := r.IntN(1 + r.IntN(15))
		out[i] = fmt.Sprintf("h%d.d%d.example", r.IntN(1+r.IntN(1+2*d)), d)
	}
	return out
}

// 256 old feeds of four domains, two on each host, were all that 256 workers asked. Now each domain has two until all others have their
// share, and they take a place that becomes free before it has more.
func TestADomainOfManyHostsHasItsShareFirst(t *testing.T) {
	var hosts []string
	for i := range 256 {
		hosts = append(hosts, fmt.Sprintf("h%d.d%d.example", i/8, i%4))
	}
	for i := range 100 {
		hosts = append(hosts, fmt.Sprintf("other%d.example", i%25))
	}
	q := newQueue(2)
	for _, tk := range tasksOf(hosts...) {
		q.add(tk)
	}
	wants := func(what string, tasks []*task, many, others int) {
		t.Helper()
		for _, tk := range tasks {
			if tk.ID < 256 {
				many--
			} else {
				others--
			}
		}
		if many != 0 || others != 0 {
			t.Fatalf("%s: %d too few of the four domains and %d of others", what, many, others)
		}
	}
	wants("at first", q.take(58), 8, 50)
	wants("when all others have their share", q.take(100), 100, 0)
	for i := range 4 {
		if n := q.domains[fmt.Sprintf("d%d.example", i)].busy; n != 27 {
			t.Errorf("domain %d has %d of 108", i, n)
		}
	}
	for i := range 25 {
		q.finished(fmt.Sprintf("other%d.example", i))
	}
	wants("when one of each other ends", q.take(25), 0, 25)
}

func TestQueueDrop(t *testing.T) {
	q := newQueue(2)
	for _, tk := range tasksOf("a", "b", "a", "c", "a") {
		q.add(tk)
	}
	first := q.take(1)[0]
	late := tasksOf("a", "b")
	for _, tk := range late {
		tk.late = true
		q.add(tk)
	}
	for i, tk := range tasksOf("a", "a", "a", "b") {
		tk.domain, tk.onward = fmt.Sprint("led", i/2), &onward{}
		q.add(tk)
	}
	dropped := q.drop(func(tk *task) bool { return tk.host == "a" })
	if len(dropped) != 3+3 || q.waiting != 3+1 {
		t.Fatalf("%d dropped, %d waiting", len(dropped), q.waiting)
	}
	q.finished(first.host)
	rest := q.take(5)
	q.finished("b")
	if rest = append(rest, q.take(5)...); len(rest) != 4 || rest[3] != late[1] || len(q.ready) != 0 || len(q.domains) != 2 {
		t.Errorf("%d left to take, of %d domains", len(rest), len(q.domains))
	}
}

// A host's own feeds and those that redirects led there alternate; the domains of these take turns, so that nobody fills the line with many
// feeds of one, and of each the oldest is first, though it came last.
func TestWhereRedirectsLeadDomainsTakeTurns(t *testing.T) {
	q := newQueue(1)
	tasks := tasksOf("h", "h", "h", "h", "h", "h", "h", "h")
	for i, domain := range []string{"many.example", "many.example", "many.example", "one.example", "", "two.example", "many.example", ""} {
		if domain != "" {
			tasks[i].domain, tasks[i].onward = domain, &onward{}
		} else {
			q.add(tasks[i])
		}
	}
	for _, tk := range slices.Backward(tasks) {
		if tk.onward != nil {
			q.add(tk)
		}
	}
	for _, want := range []int64{4, 0, 7, 3, 5, 1, 2, 6} {
		got := q.take(5)
		if len(got) != 1 || got[0].ID != want {
			t.Fatalf("%d tasks at a time, the first %d, want %d", len(got), got[0].ID, want)
		}
		q.finished("h")
	}
	if len(q.hosts) != 0 {
		t.Errorf("%d hosts are remembered", len(q.hosts))
	}
}
