package crawl

import (
	"maps"
	"time"
)

// outageDomains is how many domains must have been silent, in a run that had no answer at all, for the silence to be ours
// however the run was told to count.
const outageDomains = 4

// outageFailures is how often in a row a feed has failed that is no evidence of an outage in a run that had no answer at all.
const outageFailures = 3

// outagePatience is how long nothing must have answered before quick failures (a refused certificate, an unreachable
// host) look like an outage: at the start of a run they come before the first answer.
const outagePatience = 5 * time.Second

// localPatience is the same where one of them is certainly ours: a few hosts may have addresses of IPv6 alone, and this machine none.
// No route to one host and an answer to a GET that began within this time say that there is a network.
const localPatience = time.Second

// manyDomains are more than one person's, or a few persons': so many must have answered with a web page, in a row and for outagePatience, to
// end a run, or at its end to outweigh a feed that was read before (where nothing but pages came, the limit is enough at the end); so many
// of feeds that never worked must be silent once anybody has answered; and so many must have fallen silent when all were asked at once.
const manyDomains = 50

// verdict is what the outage rule makes of one fetch.
type verdict int

const (
	count verdict = iota // the feed's own: its outcome stands
	hold                 // perhaps ours: to be kept back until the next verdicts
	ours                 // certainly ours: no outcome, the feed stays due
)

// freed is a fetch that was held back, with its verdict: count or ours.
type freed struct {
	*finished
	verdict verdict
}

// row is one class of addresses: the surprises since its last answer.
type row struct {
	answered   bool
	lastAnswer time.Time
	alone      map[string]int // how often a domain that worked was silent though another answered meanwhile, less its answers
	mute       int            // domains that were so more often than they answered
	heard      int            // domains that answered more often
	held       []*finished
	domains    map[string]bool
	fresh      map[string]bool // domains of feeds that never worked, after the first answer
	weak       map[string]bool // domains of weak failures before the first answer
	idle       int             // how many of those held say nothing, and count unless an outage is seen
	since      time.Time       // start of the first one held
	local      bool            // one of them is certainly ours
}

func (r *row) add(f *finished) {
	e := &f.event
	if r.domains == nil {
		r.domains, r.fresh, r.since = map[string]bool{}, map[string]bool{}, e.start
	}
	if e.start.Before(r.since) {
		r.since = e.start
	}
	switch {
	case e.weak:
		if r.weak == nil {
			r.weak = map[string]bool{}
		}
		r.weak[e.domain] = true
	case r.answered && !e.worked:
		r.fresh[e.domain] = true
	default:
		r.domains[e.domain] = true
	}
	r.local = r.local || e.local
	r.keep(f)
}

// keep holds back what says nothing by itself.
func (r *row) keep(f *finished) { r.held = append(r.held, f) }

// idles keeps back what counts but for an outage: nobody has answered since.
func (r *row) idles(f *finished) (verdict, []freed) {
	r.idle++
	r.keep(f)
	return hold, nil
}

// note notes that a domain answered, or was silent though another answered meanwhile.
func (r *row) note(e *event) {
	by := 0
	switch {
	case e.answered:
		by = -1
	case r.lastAnswer.After(e.start) && e.healthy() && e.worked:
		by = 1
	}
	if r.alone == nil {
		r.alone = map[string]int{}
	}
	was := r.alone[e.domain]
	is := was + by
	r.alone[e.domain] = is
	switch {
	case by > 0 && was == 0:
		r.mute++
	case by > 0 && is == 0:
		r.heard--
	case by < 0 && was == 0:
		r.heard++
	case by < 0 && is == 0:
		r.mute--
	}
}

// byItself tells whether a domain is silent by itself: it was so while others answered. Where that goes for more than a few, it may as well
// have been under way when the network went away.
func (r *row) byItself(domain string) bool {
	return r.alone[domain] > 0 && r.mute*fewShare <= r.heard
}

// silence tells whether a run that had no answer at all was silent on enough domains to mean something. Those of feeds that have just begun to
// fail are among them: they may have done so when the network went away. Who was silent earlier in this hour, while others answered, is not.
func (r *row) silence() bool {
	all := maps.Clone(r.domains)
	if all == nil {
		all = map[string]bool{}
	}
	maps.Copy(all, r.weak)
	for _, f := range r.held {
		if e := &f.event; e.silent && e.worked && !e.again && e.failures < outageFailures {
			all[e.domain] = true
		}
	}
	return !r.answered && len(all) >= outageDomains
}

// most tells whether the domains that worked until now and were silent last are more than those that answered, and too many to be a few
// persons': where all were asked at once, the network may have gone away after the first answer. Who was silent earlier in this hour too,
// while others answered, is not among them, if others have answered this time.
func (r *row) most(limit int) bool {
	domains := map[string]bool{}
	for _, f := range r.held {
		if e := &f.event; e.silent && e.healthy() && e.worked && !(e.again && r.answered) && !r.byItself(e.domain) {
			domains[e.domain] = true
		}
	}
	return len(domains) > max(limit, manyDomains, r.heard)
}

// long tells whether the row is longer than the limit, and has lasted long enough to mean something.
func (r *row) long(limit int, now time.Time) bool {
	patience := outagePatience
	if r.local {
		patience = localPatience
	}
	return r.over(limit) && now.Sub(r.since) >= patience
}

// over tells whether the row is longer than the limit, which is higher for feeds that never worked.
func (r *row) over(limit int) bool {
	return len(r.domains) > limit || len(r.fresh) > max(limit, manyDomains)
}

// askElsewhere makes what is held the feeds' own, if elsewhere says that other domains are within reach, and all that this machine has said of
// itself is that it finds no way to these.
func (r *row) askElsewhere(elsewhere func(domains map[string]bool) bool) {
	domains := map[string]bool{}
	for _, f := range r.held {
		if e := &f.event; e.local && !e.route && !e.unresolved {
			return
		}
		domains[f.event.domain] = true
	}
	if !elsewhere(domains) {
		return
	}
	for _, f := range r.held {
		f.event.local = false
	}
	r.local = false
}

// doubtful takes out of what is held that of domains that are not silent by themselves, if they are more than the limit.
func (r *row) doubtful(limit int) (taken []*finished) {
	var rest []*finished
	domains := map[string]bool{}
	for _, f := range r.held {
		if r.byItself(f.event.domain) {
			rest = append(rest, f)
			continue
		}
		taken = append(taken, f)
		domains[f.event.domain] = true
	}
	if len(domains) <= limit {
		return nil
	}
	r.held = rest
	return taken
}

// end ends the row, because of an answer, or, if that is nil, because the run has ended. What was held counts; but what was certainly ours
// counts against no feed that has worked, unless it had no route, or no address, at the time at which that answer's GET found one, or the
// answer that led there came, or nearly so. A document may be read long after it came: what ended later than that is held on, but is no evidence.
func (r *row) end(answer *event) (free []freed) {
	held := r.held
	r.held, r.domains, r.fresh, r.weak, r.local, r.idle = nil, nil, nil, nil, false, 0
	for _, f := range held {
		v, k := count, &f.event
		if answer != nil && k.end.After(answer.end) {
			r.idles(f)
			continue
		}
		found := answer != nil && answer.start.Before(k.end.Add(localPatience))
		if k.unresolved {
			found = found && answer.start.After(k.start.Add(-localPatience))
		}
		if k.local && k.worked && !((k.route || k.unresolved) && found || k.justLed()) {
			v = ours
		}
		free = append(free, freed{f, v})
	}
	return free
}

// outage tells failures that are news about feeds from those that are news about our own network. Not safe for
// concurrent use; events are given in the order of their ends, but for answers whose documents take long to be read.
//
// A surprise is a silent failure of a healthy feed while no answer of its class came between its start and its end. Without that clause the
// time-outs that come last in every run would look like an outage. Nor is it one if its domain was silent before, while others answered:
// such domains with many feeds come last, too. More than limit surprises in a row, on different domains, are an outage. Anybody can make
// new feeds that are silent: once another has answered it takes many more domains of feeds that never worked, though there be no resolver
// for them: their name servers are anybody's too. Healthy feeds that turn into "not a feed" (a hotel's portal answers everything with its
// own page) are held while the others are asked: one that is read well clears it, and each counts. They are an outage if in a whole run
// none was read, and they are on more than limit domains, or if they are on so many that nobody else can be behind it. And if in a whole
// run nothing answered, then also refusals and names that do not exist are no news about feeds that worked: a resolver or a firewall of
// ours may say so of everything. It is one too if at the end more domains have fallen silent than answered, and many. Feeds that failed
// before are no surprise, nor is who was asked before the last answer; but what an outage did to them counts as little, so they too are
// held until the next answer.
type outage struct {
	limit  int
	class  [2]row // public, allowed
	portal row
	read   time.Time // when a feed was read well for the last time
	down   bool
}

// judge gives the verdict on one fetch, and what was held and is free to count now.
func (o *outage) judge(f *finished) (v verdict, free []freed) {
	e := &f.event
	r := &o.class[0]
	if e.allowed {
		r = &o.class[1]
	}
	switch {
	case o.down && (e.silent || e.weak || e.notAFeed): // what was under way when it was seen
		r.keep(f)
		return hold, nil
	case o.down && e.starved:
		return ours, nil
	case o.down:
		return count, nil
	}
	if e.answered {
		r.answered = true
		if e.end.After(r.lastAnswer) {
			r.lastAnswer = e.end
		}
		free = r.end(e)
		r.note(e)
	}
	switch {
	case e.read:
		if e.end.After(o.read) {
			o.read = e.end
		}
		return count, append(free, o.portal.end(e)...)
	case e.starved, e.answered && e.local && e.worked && !e.route: // where a redirect leads there may never be a route
		return ours, free
	case e.answered && e.notAFeed && (o.read.After(e.start) || e.few && !o.read.IsZero()):
		return count, free
	case e.answered && e.notAFeed && e.healthy() && e.worked:
		o.portal.add(f)
		o.down = o.portal.long(max(o.limit, manyDomains), e.end)
		return hold, free
	case e.weak && !r.answered && e.healthy() && e.worked:
		r.add(f)
		return hold, free
	case e.answered || !e.silent:
		return count, free
	}
	r.note(e)
	answers := r.lastAnswer.After(e.start)
	switch {
	case e.justLed():
		return r.idles(f)
	case e.local && answers && e.worked && !e.route && !e.unresolved:
		return ours, free
	case e.local && answers && e.worked: // it may have looked for a route or a name after the last of them
		r.keep(f)
		return hold, free
	case answers, r.byItself(e.domain), !e.local && (e.again || e.few && r.answered):
		return r.idles(f)
	case !e.local && !e.healthy(): // no news, but in an outage it is not the feed's
		r.keep(f)
		return hold, free
	}
	r.add(f)
	o.down = o.down || r.long(o.limit, e.end)
	return hold, free
}

// settle ends the run: whether it was an outage after all, and else what becomes of what was held. Where nobody has answered, and few
// domains are said by this machine itself to be out of reach, it may be them: a resolver fails for one whose name servers are gone as
// it does without a network. So elsewhere decides then: whether other domains are within reach. Where a deadline ends the run an outage may
// just have begun: what is held on more than limit domains that are not silent by themselves stays so.
func (o *outage) settle(deadline bool, elsewhere func(domains map[string]bool) bool) (down bool, free []freed) {
	for i := range o.class {
		r := &o.class[i]
		if r.local && !r.answered && !r.silence() && !r.over(o.limit) {
			r.askElsewhere(elsewhere)
		}
		o.down = o.down || r.silence() || r.most(o.limit) || r.local && (!r.answered || r.over(o.limit))
	}
	pages := len(o.portal.domains)
	o.down = o.down || pages > o.limit && (o.read.IsZero() || pages > manyDomains)
	if o.down {
		return true, nil
	}
	for _, r := range o.rows() {
		var stay []*finished
		if deadline {
			stay = r.doubtful(o.limit)
		}
		free = append(free, r.end(nil)...)
		r.held = stay
	}
	return false, free
}

func (o *outage) rows() []*row { return []*row{&o.portal, &o.class[0], &o.class[1]} }

// idle is how many are kept back that count but for an outage.
func (o *outage) idle() (n int) {
	for _, r := range o.rows() {
		n += r.idle
	}
	return n
}

// held gives everything that is still kept back.
func (o *outage) held() []*finished {
	var all []*finished
	for _, r := range o.rows() {
		all = append(all, r.held...)
	}
	return all
}
