package crawl

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var outageStart = time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return outageStart.Add(time.Duration(seconds * float64(time.Second)))
}

func silent(domain string, start, end float64) event {
	return event{domain: domain, start: at(start), end: at(end), silent: true, worked: true}
}

const late = 10 // seconds: a connect time-out

func answerAt(domain string, end float64) event {
	return event{domain: domain, start: at(end - 0.1), end: at(end), answered: true, read: true, worked: true}
}

func changed(e event, changes ...func(*event)) event {
	for _, f := range changes {
		f(&e)
	}
	return e
}

// rounds are n GETs of each of four domains that worked, one after the other, silent to a time-out from the given start on.
func rounds(n int, start float64, changes ...func(*event)) []event {
	var all []event
	for i := range n {
		for _, domain := range []string{"a", "b", "c", "d"} {
			from := start + float64(i)*late
			all = append(all, changed(silent(domain, from, from+late), changes...))
		}
	}
	return all
}

// answers are of n domains, soon after the start.
func answers(n int) (all []event) {
	for i := range n {
		all = append(all, answerAt(fmt.Sprintf("x%d", i), 0.5))
	}
	return all
}

// pages are web pages instead of feeds, from n domains between two times in seconds.
func pages(n int, from, to float64) []event {
	var all []event
	for i := range n {
		e := answerAt(fmt.Sprintf("page%d", i), from+(to-from)*float64(i+1)/float64(n))
		e.read, e.notAFeed = false, true
		all = append(all, e)
	}
	return all
}

// newAndSilent are feeds that never worked, of n domains, silent to a time-out after an answer to another.
func newAndSilent(n int, changes ...func(*event)) []event {
	all := []event{answerAt("x", 1)}
	for i := range n {
		e := changed(silent(fmt.Sprintf("new%d", i), 2, 2+late), changes...)
		e.worked = false
		all = append(all, e)
	}
	return all
}

func TestOutageRule(t *testing.T) {
	dead := func(e *event) { e.failures = outageFailures }
	local := func(e *event) { e.local = true }
	route := func(e *event) { e.local, e.route = true, true }
	never := func(e *event) { e.worked = false }
	allowed := func(e *event) { e.allowed = true }
	weak := func(e *event) { e.silent, e.weak = false, true }
	last := func(e *event) { e.few = true }
	slowPage := func(domain string) event {
		e := answerAt(domain, 8)
		e.start = at(0)
		return e
	}
	portal := func(e *event) { e.read, e.notAFeed = false, true }
	tests := []struct {
		name   string
		events []event
		down   bool
		counts int // outcomes that stand in the end
	}{
		{"three surprises then an answer", []event{silent("a", 0, 1), silent("b", 0, 1), silent("c", 0, 1), answerAt("d", 2)}, false, 4},
		{"four surprises on four domains", []event{silent("a", 0, late), silent("b", 0, late), silent("c", 0, late), silent("d", 0, late)}, true, 0},
		{"answered, but we had no memory for it", []event{answerAt("a", 1), changed(answerAt("b", 2), func(e *event) { e.read, e.local, e.starved = false, true, true })}, false, 1},
		{"a redirect to where there is no route", []event{answerAt("a", 1), changed(answerAt("b", 2), route, func(e *event) { e.read = false })}, false, 2},
		{"a redirect to where there is no route, at first", []event{changed(answerAt("b", 1), route, never, func(e *event) { e.read = false }), answerAt("a", 2)}, false, 2},
		{"a redirect of another host to where there is no route, alone", []event{
			answerAt("a", 1), changed(silent("a", 1.1, 1.2), route, func(e *event) { e.led = at(1) })}, false, 2},
		{"a redirect of another host, and the route goes away while its turn comes", []event{
			answerAt("a", 1), changed(silent("a", 9, 9.1), route, func(e *event) { e.led = at(1) })}, false, 1},
		{"a redirect of another host to where there is no route, and then nothing answers", []event{
			answerAt("a", 1), changed(silent("a", 1.1, 1.2), route, func(e *event) { e.led = at(1) }),
			silent("b", 2, 9), silent("c", 2, 9), silent("d", 2, 9), silent("e", 2, 9)}, true, 1},
		{"a redirect, and then no resolver", []event{changed(answerAt("b", 1), local, func(e *event) { e.read = false }), answerAt("a", 2)}, false, 1},
		{"three surprises on three domains", []event{silent("a", 0, late), silent("b", 0, late), silent("c", 0, late), answerAt("e", late+1)}, false, 4},
		{"two domains, silent and refused", []event{
			silent("a", 0, late), silent("b", 0, late), changed(silent("a", 0, 1), weak), changed(silent("b", 0, 1), weak)}, false, 4},
		{"four quick surprises before the first answer", []event{silent("a", 0, 1), silent("b", 0, 1), silent("c", 0, 1), silent("d", 0, 1), answerAt("e", 2)}, false, 5},
		{"four without a route, for longer than an answer takes", []event{
			changed(silent("a", 0, 0.01), route), changed(silent("b", 0, 0.01), route), changed(silent("c", 0, 0.01), route), changed(silent("d", 0.9, 1), route), answerAt("e", 2)}, true, 1},
		{"four without a route, at once, and nothing answers", []event{
			changed(silent("a", 0, 0.01), route), changed(silent("b", 0, 0.01), route), changed(silent("c", 0, 0.01), route), changed(silent("d", 0, 0.01), route)}, true, 0},
		{"four without a route, at once, at the end", []event{answerAt("x", 1),
			changed(silent("a", 2, 2.01), route), changed(silent("b", 2, 2.01), route), changed(silent("c", 2, 2.01), route), changed(silent("d", 2, 2.01), route)}, true, 1},
		{"four of IPv6 alone come first, while another is under way", []event{
			changed(silent("a", 0, 0.01), route), changed(silent("b", 0, 0.01), route), changed(silent("c", 0, 0.01), route), changed(silent("d", 0, 0.01), route),
			changed(answerAt("x", 0.2), func(e *event) { e.start = at(0) })}, false, 5},
		{"the network comes up after four had no route", []event{
			changed(silent("a", 0, 0.01), route), changed(silent("b", 0, 0.01), route), changed(silent("c", 0, 0.01), route), changed(silent("d", 0, 0.01), route), answerAt("x", 2)}, false, 1},
		{"no descriptor, while another is under way", []event{
			changed(silent("a", 0, 0.01), local), changed(answerAt("x", 0.2), func(e *event) { e.start = at(0) })}, false, 1},
		{"no route for a feed that worked, while others answer", []event{answerAt("x", 1), changed(silent("a", 0, 2), route), answerAt("y", 3)}, false, 3},
		{"no route for a feed that worked, and others answer a second later", []event{answerAt("x", 1), changed(silent("a", 0, 2), route), answerAt("y", 3.1)}, false, 2},
		{"no route for a feed that never worked, while others answer", []event{answerAt("x", 1), changed(silent("a", 0, 2), route, never)}, false, 2},
		{"the route goes away after an answer, for the last three", []event{answerAt("x", 1),
			changed(silent("a", 0, 2), route), changed(silent("b", 0.5, 2), route), changed(silent("c", 1.5, 2), route)}, false, 1},
		{"the route goes away after an answer, for many", []event{answerAt("x", 1), changed(silent("a", 0, 1.1), route), changed(silent("b", 0, 1.2), route),
			changed(silent("c", 1.1, 1.2), route), changed(silent("d", 1.2, 1.3), route), changed(silent("e", 1.3, 1.4), route), changed(silent("f", 2.1, 2.2), route)}, true, 1},
		{"four surprises on one domain", []event{silent("a", 0, 1), silent("a", 0, 1), silent("a", 0, 1), silent("a", 0, 1), answerAt("b", 2)}, false, 5},
		{"an answer ends the row", []event{silent("a", 0, 1), silent("b", 0, 1), answerAt("x", 2), silent("c", 3, 4), silent("d", 3, 4), answerAt("y", 5)}, false, 6},
		{"dead feeds are no surprise", []event{changed(silent("a", 0, 1), dead), changed(silent("b", 0, 1), dead), changed(silent("c", 0, 1), dead), changed(silent("d", 0, 1), dead), changed(silent("e", 0, 1), dead)}, false, 5},
		{"time-outs that come last, while others answered", []event{answerAt("x", 5), silent("a", 0, 60), silent("b", 1, 61), silent("c", 2, 62), silent("d", 3, 63), silent("e", 4, 64)}, false, 6},
		{"the network goes away under some who were asked before the last answer", []event{answerAt("x", 1),
			silent("p", 0, 10), changed(silent("q", 0.5, 10), dead), changed(silent("r", 0.5, 10), never), silent("a", 2, 12), silent("b", 2, 12), silent("c", 2, 12), silent("d", 2, 12)}, true, 1},
		{"the network goes away, and a document that came before is read later", []event{answerAt("x", 1), silent("p", 0.5, 10), silent("q", 2, 10),
			answerAt("y", 1.5), silent("a", 2, 12), silent("b", 2, 12), silent("c", 2, 12), silent("d", 2, 12)}, true, 2},
		{"the route goes away, and a document that came before is read later", []event{answerAt("x", 1), changed(silent("p", 2, 2.01), route),
			answerAt("y", 1.5), changed(silent("a", 3, 3.01), route), changed(silent("b", 3, 3.01), route), changed(silent("c", 3, 3.01), route), changed(silent("d", 3, 3.01), route)}, true, 2},
		{"quick failures, while documents are read later than they came", []event{answerAt("x", 1), silent("a", 1.5, 1.6), silent("b", 3.1, 3.2), answerAt("y", 1.2),
			silent("c", 4.1, 4.2), silent("d", 6, 6.2), answerAt("z", 1.3), silent("e", 7, 7.2), answerAt("z", 7.3)}, false, 9},
		{"no answer at all, four domains, a new list", []event{changed(silent("a", 0, 1), never), changed(silent("b", 0, 1), never), changed(silent("c", 0, 1), never), changed(silent("d", 0, 1), never)}, true, 0},
		{"new feeds of fifty domains are silent, others answered before", newAndSilent(50), false, 51},
		{"new feeds of more domains are silent, others answered before", newAndSilent(51), true, 1},
		{"there is no resolver for new feeds of fifty domains, others answered before", newAndSilent(50, local), false, 51},
		{"there is no resolver for new feeds of more domains, others answered before", newAndSilent(51, local), true, 1},
		{"there is no route at once for new feeds of more domains, others answered before", newAndSilent(51, route, func(e *event) { e.end = at(2.1) }), true, 1},
		{"new feeds and then old ones are silent, others answered before", append(newAndSilent(8),
			silent("a", 2, late+2), silent("b", 2, late+2), silent("c", 2, late+2), silent("d", 2, late+2)), true, 1},
		{"four domains are silent while others answer, and go on", slices.Concat(answers(40), rounds(3, 0)), false, 52},
		{"four domains have no resolver while others answer, and go on", slices.Concat(answers(40), rounds(3, 0, local)), false, 40},
		{"four domains are silent while others answer, and then others too", slices.Concat(answers(40), rounds(2, 0),
			[]event{silent("e", 12, 22), silent("f", 12, 22), silent("g", 12, 22), silent("h", 12, 22)}), true, 40},
		{"four of not many more domains are asked when the network goes away", slices.Concat(answers(39), rounds(3, 0)), true, 39},
		{"four domains answer, are silent once, and then the network goes away", slices.Concat(answers(40), []event{
			answerAt("a", 1), answerAt("b", 1), answerAt("c", 1), answerAt("d", 1)}, rounds(2, 0)), true, 44},
		{"no answer at all, two domains", []event{silent("a", 0, 1), silent("b", 0, 1)}, false, 2},
		{"no route, however short the list", []event{changed(silent("a", 0, 1), local)}, true, 0},
		{"no resolver for a feed that worked, others answer", []event{answerAt("x", 1), changed(silent("a", 0, 2), local)}, false, 1},
		{"no resolver for a feed that never worked, others answer", []event{answerAt("x", 1), changed(changed(silent("a", 0, 2), local), never)}, false, 2},
		{"a bridge on localhost says nothing about the way out", []event{
			changed(answerAt("127.0.0.1", 1), allowed), silent("a", 0, late), silent("b", 0, late), silent("c", 0, late), silent("d", 0, late)}, true, 1},
		{"everything that worked is refused, and nothing answers", []event{
			changed(silent("a", 0, 1), weak), changed(silent("b", 0, 1), weak), changed(silent("c", 0, 1), weak), changed(silent("d", 0, 1), weak)}, true, 0},
		{"four are refused before the first answer", []event{
			changed(silent("a", 0, 1), weak), changed(silent("b", 0, 1), weak), changed(silent("c", 0, 1), weak), changed(silent("d", 0, 1), weak), answerAt("x", 2)}, false, 5},
		{"three are refused, and nothing answers", []event{
			changed(silent("a", 0, 1), weak), changed(silent("b", 0, 1), weak), changed(silent("c", 0, 1), weak)}, false, 3},
		{"a new list of refusals is counted", []event{
			changed(silent("a", 0, 1), weak, never), changed(silent("b", 0, 1), weak, never), changed(silent("c", 0, 1), weak, never), changed(silent("d", 0, 1), weak, never)}, false, 4},
		{"a portal answers everything with its page", []event{
			changed(answerAt("a", 1), portal), changed(answerAt("b", 1), portal), changed(answerAt("c", 1), portal), changed(answerAt("d", 1), portal)}, true, 0},
		{"pages that come late, while feeds were read", []event{
			answerAt("x", 1), changed(slowPage("a"), portal), changed(slowPage("b"), portal), changed(slowPage("c"), portal), changed(slowPage("d"), portal)}, false, 5},
		{"the last few are silent, others answered before", []event{
			answerAt("x", 1), changed(silent("a", 2, 60), last), changed(silent("b", 2, 60), last), changed(silent("c", 2, 60), last), changed(silent("d", 2, 60), last)}, false, 5},
		{"the last few have no route, others answered before", []event{
			answerAt("x", 1), changed(silent("a", 2, 60), last, local), changed(silent("b", 2, 60), last, local), changed(silent("c", 2, 60), last, local), changed(silent("d", 2, 60), last, local)}, true, 1},
		{"the last few are silent, and then there is no route", []event{answerAt("x", 1), changed(silent("p", 2, late), last), changed(silent("a", 2, 12), last, local),
			changed(silent("b", 2, 12), last, local), changed(silent("c", 2, 12), last, local), changed(silent("d", 2, 12), last, local)}, true, 1},
		{"dead feeds that are silent in an outage", []event{answerAt("x", 1), changed(silent("p", 2, late), dead), changed(silent("q", 2, late), dead),
			silent("a", 2, late), silent("b", 2, late), silent("c", 2, late), silent("d", 2, late), changed(silent("r", 2, late+1), dead)}, true, 1},
		{"an answer that comes when the outage was seen", []event{
			silent("a", 0, late), silent("b", 0, late), silent("c", 0, late), silent("d", 0, late), answerAt("x", late+1), silent("e", 0, late+1), changed(silent("f", 0, late+1), dead)}, true, 1},
		{"a feed when the portal was seen", append(pages(60, 0, 6), answerAt("x", 7), changed(answerAt("e", 7), portal)), true, 1},
		{"four domains of pages come first", append(pages(4, 0, 0), answerAt("x", 0.2)), false, 5},
		{"four domains of pages, for long, while none is read", append(pages(4, 0, 30), answerAt("x", 40)), false, 5},
		{"fifty domains of pages, for long, while none is read", append(pages(50, 0, 30), answerAt("x", 40)), false, 51},
		{"sixty domains of pages at once, then a feed", append(pages(60, 0, 1), answerAt("x", 2)), false, 61},
		{"four domains of pages come last", append([]event{answerAt("x", 1)}, pages(4, 2, 3)...), false, 5},
		{"a portal closes the way in the middle", append([]event{answerAt("x", 1)}, pages(60, 2, 3)...), true, 1},
		{"pages instead of feeds, with a feed in between", []event{
			changed(answerAt("a", 1), portal), changed(answerAt("b", 1), portal), answerAt("x", 1), changed(answerAt("c", 1), portal), changed(answerAt("d", 1), portal)}, false, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := outage{limit: 3}
			down, counts := play(&o, tt.events)
			if down != tt.down || counts != tt.counts {
				t.Errorf("down %v with %d outcomes that stand, want %v with %d", down, counts, tt.down, tt.counts)
			}
		})
	}
}

// play gives events to the rule as the collector does, those that come after the outage was seen too, and counts the outcomes that
// stand.
func play(o *outage, events []event) (down bool, counts int) {
	counts = judgeAll(o, events)
	down, free := o.settle(false, nowhere)
	return down, counts + counted(free)
}

func nowhere(map[string]bool) bool { return false }

func judgeAll(o *outage, events []event) (counts int) {
	for _, e := range events {
		v, free := o.judge(&finished{event: e})
		counts += counted(free)
		if v == count {
			counts++
		}
	}
	return counts
}

func counted(free []freed) (n int) {
	for _, f := range free {
		if f.verdict == count {
			n++
		}
	}
	return n
}

func TestOutageKnowsWhoWasSilentBefore(t *testing.T) {
	again := func(e *event) { e.again = true }
	events := []event{silent("a", 0, 60), silent("b", 0, 60), silent("c", 0, 60), silent("d", 0, 60)}
	for i := range events {
		events[i] = changed(events[i], again)
	}
	o := outage{limit: 3}
	if down, counts := play(&o, events); down || counts != 4 {
		t.Errorf("down %v, %d counted; want all counted: they were silent before, while others answered", down, counts)
	}
}

// All were asked at once, and the network went away after the first answer: if they are many it is seen at the end, and if they are few they
// count once, which is not evidence enough against the next hour's silence.
func TestOutageWhileAllAreUnderWay(t *testing.T) {
	many := func(n int, changes ...func(*event)) (all []event) {
		for i := range n {
			all = append(all, changed(silent(fmt.Sprintf("m%d", i), 0, late), changes...))
		}
		return all
	}
	again := func(e *event) { e.again = true }
	once := func(e *event) { e.failures = 1 }
	for _, test := range []struct {
		name   string
		events []event
		down   bool
		counts int
	}{
		{"many", append([]event{answerAt("x", 1)}, many(60)...), true, 1},
		{"many, but more have answered", append(answers(70), many(60)...), false, 130},
		{"a few", append([]event{answerAt("x", 1)}, many(20)...), false, 21},
		{"the hour after that", many(20, once), true, 0},
		{"feeds that have failed for long", many(20, func(e *event) { e.failures = outageFailures }), false, 20},
		{"many again, and nobody answers", many(60, again), true, 0},
		{"many again, and others answer", append([]event{answerAt("x", 1)}, many(60, again)...), false, 61},
	} {
		o := outage{limit: 3}
		if down, counts := play(&o, test.events); down != test.down || counts != test.counts {
			t.Errorf("%s: down %v with %d outcomes that stand, want %v with %d", test.name, down, counts, test.down, test.counts)
		}
	}
}

// A resolver that has no address for one name, and for others at the same time, is not at fault.
func TestANameThatCannotBeResolvedCountsIfOthersCan(t *testing.T) {
	gone := func(e *event) { e.local, e.unresolved = true, true }
	for _, test := range []struct {
		name   string
		events []event
		counts int
	}{
		{"asked with others", []event{changed(silent("a", 0, 0.1), gone), changed(answerAt("x", 0.5), func(e *event) { e.start = at(0) })}, 2},
		{"told of after the last answer", []event{changed(answerAt("x", 0.5), func(e *event) { e.start = at(0) }), changed(silent("a", 0, 0.6), gone), answerAt("y", 1)}, 3},
		{"while one who was asked long before is under way", []event{changed(silent("a", 5, 9), gone), changed(answerAt("x", 20), func(e *event) { e.start = at(0) })}, 1},
		{"and others later", []event{changed(silent("a", 0, 0.1), gone), answerAt("x", 30)}, 1},
	} {
		o := outage{limit: 3}
		if down, counts := play(&o, test.events); down || counts != test.counts {
			t.Errorf("%s: down %v, %d outcomes that stand, want %d", test.name, down, counts, test.counts)
		}
	}
	o := outage{limit: 3, down: true}
	if v, _ := o.judge(&finished{event: event{answered: true, local: true, starved: true, worked: true}}); v != ours {
		t.Errorf("who found no memory in an outage: %v", v)
	}
}

// At a deadline a host with more feeds than there is time for counts, and what may be the beginning of an outage does not.
func TestOutageRuleAtADeadline(t *testing.T) {
	weak := func(e *event) { e.silent, e.weak = false, true }
	page := func(e *event) { e.answered, e.silent, e.notAFeed = true, false, true }
	dead := func(e *event) { e.failures = outageFailures }
	tests := []struct {
		name         string
		events       []event
		down         bool
		counts, held int
	}{
		{"one host is silent", append([]event{answerAt("x", 1)}, slices.Repeat([]event{silent("a", 2, 2+late)}, 5)...), false, 6, 0},
		{"one host is silent, and nobody else was asked", slices.Repeat([]event{silent("a", 2, 2+late)}, 5), false, 5, 0},
		{"four hosts are silent, others answered meanwhile", slices.Concat(answers(40), rounds(3, 0)), false, 52, 0},
		{"four hosts are silent, and nobody answered", slices.Concat(rounds(1, 0)), true, 0, 4},
		{"one host is silent, and then the network goes away under feeds that failed before", slices.Concat(answers(40),
			[]event{silent("o", 0, late), silent("o", late, 2*late)}, rounds(1, late, dead)), false, 42, 4},
		{"the network goes away under feeds that failed before", slices.Concat([]event{answerAt("x", 1)}, rounds(1, 2, dead)), false, 1, 4},
		{"quick failures have just begun", slices.Concat([]event{answerAt("x", 1)}, rounds(1, 2, func(e *event) { e.end = at(3) })), false, 1, 4},
		{"three are refused, and nobody answered", rounds(1, 0, weak)[:3], false, 3, 0},
		{"one host answers with its page", slices.Repeat([]event{changed(silent("a", 2, 3), page)}, 5), false, 5, 0},
		{"pages have just begun", slices.Concat([]event{answerAt("x", 1)}, rounds(1, 2, page)), false, 1, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := outage{limit: 3}
			counts := judgeAll(&o, tt.events)
			down, free := o.settle(true, nowhere)
			counts += counted(free)
			if held := len(o.held()); down != tt.down || counts != tt.counts || held != tt.held {
				t.Errorf("down %v, %d stand and %d are held, want %v, %d, %d", down, counts, held, tt.down, tt.counts, tt.held)
			}
		})
	}
}

// simulate plays a run of n feeds over workers: dead ones fail at once or late, hanging ones take the whole time-out, the
// others answer.
func simulate(r *rand.Rand, n, workers int, deadShare, hangShare float64) []event {
	free := make([]float64, workers)
	events := make([]event, n)
	for i := range events {
		w := 0
		for j := range free {
			if free[j] < free[w] {
				w = j
			}
		}
		start := free[w]
		e := event{domain: fmt.Sprintf("d%d", i), start: at(start), worked: true}
		took := 0.05 + r.ExpFloat64()*0.3
		switch x := r.Float64(); {
		case x < deadShare: // known to be dead
			e.failures, e.silent = outageFailures, true
			took = r.Float64() * 10
		case x < deadShare+hangShare:
			e.silent, took = true, 60
		default:
			e.answered, e.read = true, true
		}
		e.end = at(start + took)
		free[w] = start + took
		events[i] = e
	}
	slices.SortFunc(events, func(a, b event) int { return a.end.Compare(b.end) })
	return events
}

// A run with dead feeds among the living, or with healthy feeds that hang to their time-out at its end, must never look
// like an outage.
func TestOutageNeverAbortsAnOrdinaryRun(t *testing.T) {
	cases := []struct {
		name       string
		dead, hang float64
	}{
		{"20 % dead", 0.2, 0}, {"5 % of the healthy hang", 0, 0.05}, {"both", 0.2, 0.05}, {"0.5 % hang", 0, 0.005},
	}
	for _, c := range cases {
		for seed := range uint64(200) {
			r := rand.New(rand.NewPCG(seed, 7))
			events := simulate(r, 500, 32, c.dead, c.hang)
			o := outage{limit: 3}
			down, counts := play(&o, events)
			if down || counts != len(events) {
				t.Fatalf("%s, seed %d: down %v, %d of %d counted", c.name, seed, down, counts, len(events))
			}
		}
	}
}

// When the network goes away in the middle, the run ends within the next few failures, and they count against nobody.
func TestOutageInTheMiddleCountsAgainstNobody(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		events := simulate(r, 500, 32, 0.1, 0.01)
		cut := events[len(events)/2].end
		for i := range events {
			if e := &events[i]; e.end.After(cut) { // from here on everything is silent, what was under way too
				e.answered, e.read, e.silent = false, false, true
				if e.end = e.start.Add(10 * time.Second); !e.end.After(cut) {
					e.end = cut.Add(time.Millisecond)
				}
			}
		}
		slices.SortFunc(events, func(a, b event) int { return a.end.Compare(b.end) })
		o := outage{limit: 3}
		for _, e := range events {
			v, free := o.judge(&finished{event: e})
			if e.end.After(cut) && (v == count || len(free) > 0) {
				t.Fatalf("seed %d: a feed was counted in the outage", seed)
			}
		}
		if !o.down {
			t.Fatalf("seed %d: the outage was not seen", seed)
		}
	}
}

// Where this machine alone says that a few domains are out of reach, and nobody has answered, other domains tell whether that is so of all.
func TestOutageAsksElsewhere(t *testing.T) {
	unresolved := func(e *event) { e.local, e.unresolved, e.worked = true, true, true }
	route := func(e *event) { e.local, e.route, e.worked = true, true, true }
	descriptors := func(e *event) { e.local, e.worked = true, true }
	few := []event{changed(silent("a", 0, 9), unresolved), changed(silent("b", 0, 9), unresolved), changed(silent("a", 0, 9), unresolved)}
	for _, test := range []struct {
		name        string
		events      []event
		reach       bool
		asked, down bool
		counts      int
	}{
		{"a few without a name, others within reach", few, true, true, false, 3},
		{"a few without a name, and others too", few, false, true, true, 0},
		{"one without a route, others within reach", []event{changed(silent("a", 0, 9), route)}, true, true, false, 1},
		{"no descriptor", []event{changed(silent("a", 0, 9), descriptors), changed(silent("b", 0, 9), unresolved)}, true, false, true, 0},
		{"many", append(few, changed(silent("c", 0, 9), unresolved), changed(silent("d", 0, 9), unresolved)), true, false, true, 0},
		{"others have answered", append([]event{answerAt("x", 1)}, few...), true, false, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, asked := outage{limit: 3}, false
			counts := judgeAll(&o, test.events)
			down, free := o.settle(false, func(except map[string]bool) bool {
				asked = true
				for _, e := range test.events {
					if !except[e.domain] {
						t.Errorf("%s may be asked about itself", e.domain)
					}
				}
				return test.reach
			})
			if counts += counted(free); down != test.down || asked != test.asked || counts != test.counts {
				t.Errorf("down %v, asked %v, %d outcomes that stand; want %v, %v, %d", down, asked, counts, test.down, test.asked, test.counts)
			}
		})
	}
}
