package crawl

import (
	"maps"
	"time"
)

// outageDomains is how many domains must have been silent, in a run that had no answer at all, for the silence to be ours
// however the run was told to count.
const outageDomains = 4

// outagePatience is how long nothing must have answered before quick failures (a refused certificate, an unreachable
// host) look like an outage: at the start of a run they come before the first answer. What is certainly ours needs none.
const outagePatience = 5 * time.Second

// event is what the outage rule needs to know of one fetch.
type event struct {
	domain   string // registrable domain
	allowed  bool   // a network of --allow-net: judged apart from public addresses
	start    time.Time
	end      time.Time
	answered bool // any HTTP response came
	silent   bool // it failed without one, in a way that a dead network of our own would cause too
	weak     bool // it failed without one, but somebody said so: refused, reset, no such name
	local    bool // certainly our own side: no route, no resolver, no descriptors
	healthy  bool // the feed's last fetch succeeded, or it was never fetched
	worked   bool // it has been fetched well at some time
	again    bool // it was silent earlier in this hour too, while others answered: it is silent by itself
	few      bool // few of the run's feeds are left: who is silent last, while others answered before, is silent by itself
	notAFeed bool // an answer, but not a feed
	read     bool // read well, or unchanged
}

// oursAfterAll tells whether a failure that was held back counts against nobody though the network is up: its cause was certainly our
// own, and the feed has worked before.
func (e event) oursAfterAll() bool { return e.local && e.worked }

// verdict is what the outage rule makes of one fetch.
type verdict int

const (
	count verdict = iota // the feed's own: its outcome stands
	hold                 // perhaps ours: to be kept back until the next verdicts
	ours                 // certainly ours: no outcome, the feed stays due
)

// row is one class of addresses: the surprises since its last answer.
type row[T any] struct {
	answered   bool
	lastAnswer time.Time
	held       []T
	domains    map[string]bool
	weak       map[string]bool // domains of weak failures before the first answer
	since      time.Time       // start of the first one held
	local      bool            // one of them is certainly ours
}

func (r *row[T]) add(e event, x T) {
	if r.domains == nil {
		r.domains, r.since, r.local = map[string]bool{}, e.start, false
	}
	if e.start.Before(r.since) {
		r.since = e.start
	}
	if e.weak {
		if r.weak == nil {
			r.weak = map[string]bool{}
		}
		r.weak[e.domain] = true
	} else {
		r.domains[e.domain] = true
	}
	r.local = r.local || e.local
	r.held = append(r.held, x)
}

// silence tells whether a run that had no answer at all was silent on enough domains to mean something.
func (r *row[T]) silence() bool {
	all := maps.Clone(r.domains)
	maps.Copy(all, r.weak)
	return !r.answered && len(all) >= outageDomains
}

// long tells whether the row is longer than the limit, and has lasted long enough to mean something.
func (r *row[T]) long(limit int, now time.Time) bool {
	return len(r.domains) > limit && (r.local || now.Sub(r.since) >= outagePatience)
}

func (r *row[T]) end() []T {
	held := r.held
	r.held, r.domains, r.weak = nil, nil, nil
	return held
}

// outage tells failures that are news about feeds from those that are news about our own network. Not safe for
// concurrent use; events are given in the order of their ends.
//
// A surprise is a silent failure of a healthy feed while no answer of its class came between its start and its end.
// Without that clause the time-outs that come last in every run would look like an outage. More than limit surprises
// in a row, on different domains, are an outage; so are more than limit feeds in a row that turn from healthy into "not a
// feed" with none read well in between (a hotel's portal answers everything with its own page). And if in a whole run nothing
// answered, then also refusals and names that do not exist are no news about feeds that worked: a resolver or a firewall of
// ours may say so of everything.
type outage[T any] struct {
	limit  int
	class  [2]row[T] // public, allowed
	portal row[T]
	read   time.Time // when a feed was read well for the last time
	down   bool
}

// judge gives the verdict on one fetch, carried as x while it is held, and what was held and is free to count now.
func (o *outage[T]) judge(e event, x T) (v verdict, free []T) {
	r := &o.class[0]
	if e.allowed {
		r = &o.class[1]
	}
	if e.answered {
		r.answered = true
		if e.end.After(r.lastAnswer) {
			r.lastAnswer = e.end
		}
		free = r.end()
	}
	switch {
	case e.read:
		if e.end.After(o.read) {
			o.read = e.end
		}
		return count, append(free, o.portal.end()...)
	case e.answered && e.notAFeed && (o.read.After(e.start) || e.few && !o.read.IsZero()):
		return count, free
	case e.answered && e.notAFeed && e.healthy && e.worked:
		o.portal.add(e, x)
		o.down = o.down || len(o.portal.domains) > o.limit
		return hold, free
	case e.weak && !r.answered && e.healthy && e.worked:
		r.add(e, x)
		return hold, free
	case e.answered || !e.silent:
		return count, free
	}
	answers := r.lastAnswer.After(e.start)
	switch {
	case e.local && answers && e.worked:
		return ours, free
	case answers, !e.local && (!e.healthy || e.again || e.few && r.answered):
		return count, free
	}
	r.add(e, x)
	o.down = o.down || r.long(o.limit, e.end)
	return hold, free
}

// settle ends the run: whether it was an outage after all, and else what was held and counts now. ownSide says of a held
// one that its cause was certainly ours.
func (o *outage[T]) settle(ownSide func(T) bool) (down bool, free []T) {
	for i := range o.class {
		r := &o.class[i]
		silent := r.silence()
		for _, x := range r.held {
			silent = silent || !r.answered && ownSide(x)
		}
		o.down = o.down || silent
	}
	if o.down {
		return true, nil
	}
	for i := range o.class {
		free = append(free, o.class[i].end()...)
	}
	return false, append(free, o.portal.end()...)
}

// held gives everything that is still kept back.
func (o *outage[T]) held() []T {
	var all []T
	for i := range o.class {
		all = append(all, o.class[i].end()...)
	}
	return append(all, o.portal.end()...)
}
