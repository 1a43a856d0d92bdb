package crawl

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"crawl/state"
	"crawl/store"
)

// mergeEvery is the longest that a result waits for its merge: the living are stored while the dying still time out.
const mergeEvery = 2 * time.Second

// fewShare: a tenth of a run's feeds are few. They could be silent because our network went away just then, but then it costs
// each of them one failure, which its next success takes back; else a handful of feeds could make every run an outage.
const fewShare = 10

// collector takes in results, one at a time: it asks the outage rule, writes snapshot lines, and merges. It owns the
// categories.
type collector struct {
	p        *pool
	s        *session
	outage   outage
	batch    []store.Entry
	weight   int64       // of the batch in the room
	complete []*category // to be closed with the next merge
	dirty    []*category // with lines that are not synced
	giveBack []store.Claim
	release  []store.Claim
	left     []*finished
	since    time.Time // the oldest line that waits
	tasks    int       // that are to be fetched
	total    int       // these, and what a cap left out
	done     int       // of total, with their end
}

func newCollector(p *pool, tasks, rest int) *collector {
	c := &collector{p: p, s: p.s, tasks: tasks, total: tasks + rest}
	c.outage.limit = p.s.cfg.Settings.MaxConsecutiveErrors
	for _, cat := range p.cats {
		if cat.complete() {
			c.complete = append(c.complete, cat)
		}
	}
	return c
}

// run collects until the results end. On an error of its own (disk, database) it stops the pool and goes on to empty the
// channel, so that no worker is left waiting.
func (c *collector) run(ctx context.Context) error {
	tick := time.NewTicker(mergeEvery / 8)
	defer tick.Stop()
	var failed error
	check := func(err error) {
		if err != nil && failed == nil {
			failed = err
			c.p.stop(err)
			c.lighten()
		}
	}
	for {
		select {
		case f, ok := <-c.p.results:
			if !ok {
				return c.end(ctx, failed)
			}
			c.s.sum.Requests += f.reqs
			switch {
			case failed == nil:
				check(c.take(f))
				if c.outage.down {
					c.p.stop(errOutage)
				}
			case f.what != moved: // that comes again
				c.abandon(f)
			}
		case <-tick.C:
		}
		if failed == nil && c.worthMerging() {
			check(c.merge())
		}
	}
}

func (c *collector) worthMerging() bool {
	if len(c.batch) >= mergeChunk || c.weight >= mergeWeight {
		return true
	}
	return (len(c.batch) > 0 || len(c.complete) > 0) && c.s.cfg.Now().Sub(c.since).Abs() >= mergeEvery
}

// take deals with one finished task.
func (c *collector) take(f *finished) error {
	switch f.what {
	case missed:
		f.task.cat.pending--
		f.task.cat.total--
		c.done++
		c.settled(f.task.cat)
		return nil
	case deferred:
		c.s.sum.Feeds.Deferred++
		if f.claim != nil {
			c.giveBack = append(c.giveBack, *f.claim)
		}
		return c.write(f.task.cat, noteLine(f.task.Candidate, store.Deferred))
	case notStarted, unsent, cut:
		c.abandon(f)
		return nil
	case moved: // no outcome yet, but an answer
		_, free := c.outage.judge(f)
		return c.settleAll(free)
	}
	if f.event.answered {
		c.s.answers++
	}
	f.event.few = (c.total-c.done-c.outage.idle())*fewShare <= c.tasks
	verdict, free := c.outage.judge(f)
	if verdict != hold {
		free = append(free, freed{f, verdict})
	} else { // held or not, something has been done
		c.s.beat.step("fetch", c.done, c.total, c.s.cfg.Now())
	}
	return c.settleAll(free)
}

// settleAll settles one after the other. After an error it abandons the others, so that each keeps no place in the room and no lease.
func (c *collector) settleAll(free []freed) (failed error) {
	for _, f := range free {
		if failed == nil {
			failed = c.settle(f.finished, f.verdict)
		} else {
			c.abandon(f.finished)
		}
	}
	return failed
}

// settle does with a task what the outage rule says of it.
func (c *collector) settle(f *finished, v verdict) error {
	switch v {
	case ours:
		c.noteOurs(f)
		return c.leaveOut(f)
	case count:
		return c.accept(f)
	}
	return nil
}

// noteOurs remembers of what is our own fault that which a run tells at its end.
func (c *collector) noteOurs(f *finished) {
	if f.event.starved {
		c.s.starved++
	}
}

// leaveOut notes a feed that has no outcome, and stays due, through our own fault.
func (c *collector) leaveOut(f *finished) error {
	c.s.cfg.Log.Info("a feed is left to the next hour, for its failure is this machine's", slog.Int64("feed", f.claim.ID),
		slog.String("kind", f.result.Feed.LastErrorKind), slog.String("error", f.result.Error))
	c.s.sum.Feeds.Left++
	c.giveBack = append(c.giveBack, *f.claim)
	return c.write(f.task.cat, noteLine(f.task.Candidate, store.Left))
}

// abandon keeps a task's lease to be given back; its category stays open.
func (c *collector) abandon(f *finished) {
	c.p.room.leave(f.weight)
	f.weight, f.result, f.data = 0, store.Result{}, nil
	f.task.cat.open++
	c.s.sum.Feeds.Left++
	c.left = append(c.left, f)
	switch f.what {
	case unsent, deferred:
		if f.claim != nil {
			c.giveBack = append(c.giveBack, *f.claim)
		}
	case answered, cut:
		c.release = append(c.release, *f.claim)
	}
}

// accept writes a result's line and puts it into the next merge.
func (c *collector) accept(f *finished) error {
	c.tally(f)
	err := c.write(f.task.cat, state.Line{Feed: f.claim.ID, URL: f.claim.URL, Token: f.claim.Token, Data: f.data})
	c.batch = append(c.batch, store.Entry{FeedID: f.claim.ID, URL: f.claim.URL, Token: f.claim.Token, Result: f.result})
	c.weight += f.weight
	return err
}

func (c *collector) tally(f *finished) {
	c.s.sum.Feeds.Fetched++
	*c.tallyOf(f.result.Outcome)++
	c.s.sum.Bytes += f.result.Bytes
	if f.whole != "" {
		c.s.sum.parsedWhole(f.whole)
	}
	if f.result.Error != "" {
		c.s.cfg.Log.Info("feed failed", slog.Int64("feed", f.claim.ID), slog.String("outcome", f.result.Outcome),
			slog.String("kind", f.result.Feed.LastErrorKind), slog.String("error", f.result.Error))
	}
}

// tallyOf is the counter of an outcome.
func (c *collector) tallyOf(outcome string) *int {
	n := &c.s.sum.Feeds
	switch outcome {
	case store.Changed:
		return &n.Changed
	case store.Unchanged:
		return &n.Unchanged
	case store.Throttled:
		return &n.Throttled
	}
	return &n.Failed // store.Gone too
}

func (c *collector) write(cat *category, line state.Line) error {
	if len(c.batch) == 0 && len(c.complete) == 0 {
		c.since = c.s.cfg.Now()
	}
	if !cat.dirty && !cat.loose {
		c.dirty = append(c.dirty, cat)
	}
	if err := cat.write(c.s, line); err != nil {
		return err
	}
	c.done++
	c.s.beat.step("fetch", c.done, c.total, c.s.cfg.Now())
	c.settled(cat)
	return nil
}

// settled tells about a category's progress, and notes it for closing when its last feed is in.
func (c *collector) settled(cat *category) {
	if cat.complete() {
		c.complete = append(c.complete, cat)
	}
	if c.s.cfg.Progress != nil {
		c.s.cfg.Progress(Progress{Category: cat.Name, Done: cat.done, Total: cat.total, Closed: cat.complete()})
	}
}

// merge makes the waiting lines durable, then stores them in one transaction. Never the other way round: what is in the
// database must be in a file that proves it until the next snapshot replaces it.
func (c *collector) merge() error {
	var closed []store.Snapshot
	for _, cat := range c.complete {
		snap, err := cat.secure(c.s)
		if err != nil {
			return err
		}
		if snap != nil {
			closed = append(closed, *snap)
			c.s.sum.Categories.Done++
		}
	}
	for _, cat := range c.dirty {
		if cat.dirty {
			if _, err := cat.secure(c.s); err != nil {
				return err
			}
		}
	}
	c.complete, c.dirty = nil, nil
	if len(c.batch) == 0 && len(closed) == 0 {
		return nil
	}
	if err := c.s.store.CheckInPlace(); err != nil {
		return err
	}
	m, err := c.s.store.Merge(context.Background(), c.s.run, c.batch, closed, c.s.cfg.Now())
	if err != nil {
		return err
	}
	for _, f := range m.Failed { // whatever it was taken for
		i := slices.IndexFunc(c.batch, func(e store.Entry) bool { return e.FeedID == f.FeedID })
		*c.tallyOf(c.batch[i].Result.Outcome)--
	}
	c.lighten()
	n := &c.s.sum
	n.Items.New += m.New
	n.Items.Updated += m.Updated
	n.Feeds.Stopped += m.Stopped
	n.Feeds.Failed += len(m.Failed)
	c.s.logFailed(m)
	c.s.beat.step("merge", c.done, c.total, c.s.cfg.Now())
	return nil
}

// lighten empties the batch and makes place in the room.
func (c *collector) lighten() {
	c.p.room.leave(c.weight)
	clear(c.batch)
	c.batch, c.weight = c.batch[:0], 0
}

// end settles what was held back, closes what can be closed, and gives back the leases of what has no outcome. It returns why the
// work ended early, nil if it did not.
func (c *collector) end(ctx context.Context, failed error) error {
	cause := context.Cause(ctx)
	if failed != nil {
		cause = failed
	}
	if deadline := errors.Is(cause, errDeadline); cause == nil || deadline {
		down, free := c.outage.settle(deadline, func(domains map[string]bool) bool { return !deadline && c.s.reaches(ctx, domains) })
		if down && !deadline { // or killed while it looked elsewhere
			cause = cmp.Or(context.Cause(ctx), error(errOutage))
		}
		failed = c.settleAll(free)
	}
	held := c.outage.held()
	outage := errors.Is(cause, errOutage)
	if outage {
		cause = blame(held)
	}
	for _, f := range held {
		if !outage { // as if it had not been asked; else it goes behind the others next time, so that they are heard
			f.what = unsent
		}
		c.abandon(f)
	}
	if errors.Is(cause, errDeadline) && c.s.kind == kindHalfCheck {
		failed = errors.Join(failed, c.closeLeft())
	}
	if failed == nil {
		failed = c.merge()
	}
	for _, cat := range c.p.cats {
		if cat.open > 0 && !cat.loose {
			c.s.sum.Categories.Left++
		}
		if err := cat.leave(); failed == nil { // one that has failed says so again
			failed = err
		}
	}
	if err := errors.Join(failed, c.letGo()); err != nil {
		return err // an error of ours says more than why the run would have ended
	}
	return cause
}

// closeLeft ends the hour for categories that the half-check could not finish: what has no outcome is noted as left.
func (c *collector) closeLeft() error {
	for _, f := range c.left {
		f.task.cat.open--
		if err := c.write(f.task.cat, noteLine(f.task.Candidate, store.Left)); err != nil {
			return err
		}
	}
	return nil
}

// letGo gives back the leases that have no outcome, so that nobody waits for their expiry.
func (c *collector) letGo() error {
	ctx, owner := context.Background(), c.s.owner()
	var err error
	if len(c.giveBack) > 0 {
		err = c.s.store.GiveBack(ctx, owner, c.giveBack)
	}
	if len(c.release) > 0 {
		err = errors.Join(err, c.s.store.Release(ctx, owner, c.release))
	}
	return err
}
