package crawl

import (
	"context"
	"runtime"
	"slices"
	"time"

	"crawl/state"
	"crawl/store"
)

const (
	// claimBatch is the most feeds that one claim takes: a commit costs a sync of the disk.
	claimBatch = 50
	// claimWait is the longest that free workers wait, while more than half are busy, for a claim to fill up.
	claimWait = 50 * time.Millisecond
	// firstWorkers is how many a run begins with. More help only where fetches wait for the network, and cost memory: their
	// number doubles each time that fewer fetches than that end within claimWait, and not for want of a core.
	firstWorkers = 64
)

// pool fetches tasks with a bounded number of workers, claims feeds just before they start, and hands what comes back to
// one collector. The dispatcher (run) owns the queue, the collector owns the categories; workers share neither.
type pool struct {
	s       *session
	cats    []*category
	queue   *queue
	leases  *leases
	parsing chan struct{}   // as many as there are cores
	over    <-chan struct{} // closed when the end of the run waits no longer for documents
	jobs    chan job        // for the workers
	freed   chan ended
	results chan *finished
	room    *room
	stop    context.CancelCauseFunc
	workers int // that may be busy at the same time
	started int // workers that were: as many as ever were busy
	busy    int
	done    int // fetches that ended since the last tick
	quiet   quietDomains
	heard   bool // others answered earlier in this hour
}

func newPool(s *session, cats []*category) *pool {
	for _, c := range cats {
		c.header.Run = s.run
	}
	return &pool{
		s: s, cats: cats,
		queue:   newQueue(s.cfg.Settings.PerHost),
		leases:  &leases{now: s.cfg.Now},
		workers: min(firstWorkers, s.cfg.Settings.Workers),
		parsing: make(chan struct{}, runtime.GOMAXPROCS(0)),
		jobs:    make(chan job, s.cfg.Settings.Workers),
		freed:   make(chan ended, s.cfg.Settings.Workers),
		results: make(chan *finished, 2*claimBatch),
		room:    newRoom(),
	}
}

// run fetches all tasks; rest are those that a cap left out. It returns the cause when the work ended early.
func (p *pool) run(ctx context.Context, tasks, rest []*task) error {
	ctx, p.stop = context.WithCancelCause(ctx)
	defer p.stop(nil)
	p.over = endOfPatience(ctx)
	defer inBackground(func(still <-chan struct{}) { p.s.heartbeat(still, p.leases, p.stop) })()
	col := newCollector(p, len(tasks), len(rest))
	collected := make(chan error, 1)
	go func() { collected <- col.run(ctx) }()
	p.end(deferred, rest)
	for _, t := range tasks {
		p.queue.add(t)
	}
	err := p.dispatch(ctx)
	close(p.jobs)
	close(p.results)
	if cause := <-collected; err == nil {
		err = cause
	}
	return err
}

// dispatch starts tasks until none is left or ctx ends, and waits for those under way. The error is the database's.
func (p *pool) dispatch(ctx context.Context) (err error) {
	tick := time.NewTicker(claimWait)
	defer tick.Stop()
	for waited := false; ctx.Err() == nil; {
		p.deferQuiet()
		if err = p.start(ctx, waited); err != nil {
			p.stop(err)
			break
		}
		if p.busy == 0 && p.queue.waiting == 0 {
			break
		}
		waited = false
		select {
		case e := <-p.freed:
			p.ended(e)
		case <-tick.C:
			waited = true
			p.grow()
		case <-ctx.Done():
		}
		p.endedAlready()
	}
	for p.busy > 0 {
		p.ended(<-p.freed)
	}
	p.end(notStarted, p.queue.drop(func(*task) bool { return true }))
	return err
}

// end tells the collector of tasks that end without being started, or without going on.
func (p *pool) end(what fate, tasks []*task) {
	for _, t := range tasks {
		f := &finished{task: t, what: what, claim: t.claimed()}
		if what == notStarted && f.claim != nil {
			f.what = unsent
		}
		p.results <- f
	}
}

// grow lets more workers be busy if those that there are wait for the network.
func (p *pool) grow() {
	if p.done < p.workers && len(p.parsing) < cap(p.parsing) {
		p.workers = min(2*p.workers, p.s.cfg.Settings.Workers)
	}
	p.done = 0
}

// ended is a worker that is free again.
type ended struct {
	task   *task
	onward *onward // the task goes on at another host when its turn comes there; nil if it has ended
}

func (p *pool) ended(e ended) {
	p.busy--
	p.done++
	p.queue.finished(e.task.host)
	if e.onward != nil {
		e.task.onward, e.task.host = e.onward, e.onward.get.Host
		p.queue.add(e.task)
	}
}

func (p *pool) endedAlready() {
	for {
		select {
		case e := <-p.freed:
			p.ended(e)
		default:
			return
		}
	}
}

// start claims and starts what may start now. While plenty are under way it first lets a claim become worth its commit.
func (p *pool) start(ctx context.Context, waited bool) error {
	for ctx.Err() == nil {
		free := p.workers - p.busy
		n := p.queue.startable(min(free, claimBatch))
		if n == 0 || n < claimBatch && p.busy > p.workers/2 && !waited {
			return nil
		}
		var failed error
		for _, tasks := range alike(p.goOn(ctx, p.queue.take(n))) {
			if failed == nil {
				failed = p.claim(ctx, tasks)
			}
			if failed != nil {
				p.end(notStarted, tasks)
			}
		}
		if failed != nil {
			return failed
		}
	}
	return nil
}

// goOn lets those go on that are claimed already, and gives the others.
func (p *pool) goOn(ctx context.Context, tasks []*task) (others []*task) {
	for _, t := range tasks {
		if c := t.claimed(); c != nil {
			p.busy++
			p.employ(ctx, job{t, c})
		} else {
			others = append(others, t)
		}
	}
	return others
}

// employ gives a worker a job.
func (p *pool) employ(ctx context.Context, j job) {
	if p.started < p.busy {
		p.started++
		go p.work(ctx)
	}
	p.jobs <- j
}

// alike parts tasks by the condition under which they may be claimed: of a category that is extended only what is due at once.
func alike(tasks []*task) [][]*task {
	var extended, usual []*task
	for _, t := range tasks {
		if t.cat.base != nil {
			extended = append(extended, t)
		} else {
			usual = append(usual, t)
		}
	}
	return slices.DeleteFunc([][]*task{extended, usual}, func(part []*task) bool { return len(part) == 0 })
}

// claim leases tasks that are alike and starts those that were got. Another process was first with the others, or a person stopped them.
func (p *pool) claim(ctx context.Context, tasks []*task) error {
	ids := make([]int64, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID
	}
	lease := p.leases.take(p.s.owner(), state.Boot())
	claims, err := p.s.store.Claim(context.WithoutCancel(ctx), ids, lease, p.s.due(tasks[0].cat))
	if err != nil {
		return err
	}
	p.s.cfg.point("claimed")
	got := make(map[int64]*store.Claim, len(claims))
	for i := range claims {
		got[claims[i].ID] = &claims[i]
	}
	for _, t := range tasks {
		p.busy++
		p.announce(t.cat)
		c := got[t.ID]
		if c == nil {
			p.deliver(&finished{task: t, what: missed})
			continue
		}
		p.employ(ctx, job{t, c})
	}
	return nil
}

// job is a claimed task on its way to a worker.
type job struct {
	*task
	claim *store.Claim
}

// work fetches until there are no more jobs. A worker lives on from job to job because its stack has grown by then.
func (p *pool) work(ctx context.Context) {
	for j := range p.jobs {
		p.deliver(p.fetch(ctx, j.task, j.claim))
	}
}

// announce shows a category when its first feed starts: what was asked says nothing before it answers.
func (p *pool) announce(c *category) {
	if p.s.cfg.Progress != nil && !c.shown {
		p.s.cfg.Progress(Progress{Category: c.Name, Done: len(c.had), Total: len(c.had) + c.asked})
	}
	c.shown = true
}

// deliver hands a finished task to the collector and frees its worker.
func (p *pool) deliver(f *finished) {
	e := ended{f.task, f.onward}
	p.results <- f
	p.freed <- e
}

// deferQuiet takes the feeds of domains that asked for quiet (429) out of the queue: the next hour asks them.
func (p *pool) deferQuiet() {
	if !p.quiet.news() {
		return
	}
	p.end(deferred, p.queue.drop(func(t *task) bool { return p.quiet.has(t.asks()) }))
}

// What became of a task.
type fate int

const (
	answered   fate = iota // it has a result
	missed                 // another process had claimed it, or it is no longer due
	deferred               // left out by the cap, or because its domain asked for quiet
	notStarted             // the run ended before it was claimed
	unsent                 // claimed, but nothing was sent, or nothing to where a redirect led
	cut                    // sent, but the run ended before the outcome
	moved                  // it goes on at another host when its turn comes there
)

// finished is a task on its way to the collector.
type finished struct {
	task   *task
	what   fate
	claim  *store.Claim
	result store.Result
	onward *onward // of what has moved
	data   []byte  // the result as its snapshot line carries it
	weight int64   // of the result in the room
	// abandoned: its document is still being read, for it hangs
	abandoned bool
	event     event
	reqs      int    // that were sent
	whole     string // why the document was parsed whole; "" if it was not, or nothing was known before
}
