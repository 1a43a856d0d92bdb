package crawl

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
)

// event is what the outage rule needs to know of one fetch.
type event struct {
	domain     string // registrable domain
	allowed    bool   // a network of --allow-net: judged apart from public addresses
	start      time.Time
	end        time.Time
	led        time.Time // when the answer came whose redirect led to this host; zero: none did
	answered   bool      // any HTTP response came
	silent     bool      // it failed without one, in a way that a dead network of our own would cause too
	weak       bool      // it failed without one, but somebody said so: refused, reset, no such name
	local      bool      // certainly our own side: no route, no resolver, no descriptors
	proxy      bool      // of the local ones: the proxy could not be reached
	starved    bool      // of the local ones: it answered, and our own memory was short
	route      bool      // of the local ones: no route to this address, which says nothing of others
	unresolved bool      // of the local ones: the resolver has no address for the name, and answered nobody since
	failures   int       // that the feed had in a row before
	worked     bool      // it has been fetched well at some time
	again      bool      // it was silent earlier in this hour too, while others answered: it is silent by itself
	few        bool      // few of the run's feeds are left: who is silent last, while others answered before, is silent by itself
	notAFeed   bool      // an answer, but not a feed
	read       bool      // read well, or unchanged
}

// healthy tells whether the feed's last fetch succeeded, or it was never fetched.
func (e *event) healthy() bool { return e.failures == 0 }

// justLed tells whether there is no route to where a redirect led a moment ago: there was a network then.
func (e *event) justLed() bool {
	return e.route && !e.led.IsZero() && e.start.Sub(e.led) < localPatience
}

// describeEvent tells the outage rule what it needs to know of an observation.
func describeEvent(e event, o *observation) event {
	e.end = o.at
	var fe *fetch.Error
	var re *feed.Error
	switch {
	case o.resp != nil:
		e.answered, e.allowed = true, o.resp.AllowedNet
		e.read = o.err == nil
		e.notAFeed = errors.As(o.err, &re) && re.Kind == feed.KindNotAFeed
	case errors.As(o.err, &fe):
		e.answered, e.allowed = fe.Answered, fe.AllowedNet
		e.local, e.proxy, e.starved = fe.Local, fe.Proxy, fe.Starved
		e.route = fe.Kind == fetch.KindConnect && slices.ContainsFunc(noRoute, func(no syscall.Errno) bool { return errors.Is(fe, no) })
		e.unresolved = fe.Kind == fetch.KindDNS
		e.silent = !fe.Answered && couldBeOurs(fe)
		e.weak = !fe.Answered && !e.silent && (fe.Kind == fetch.KindDNS || fe.Kind == fetch.KindConnect)
	}
	return e
}

// noRoute are the errors by which the kernel says that it cannot send to an address: to any, or to one of IPv6 where there is none.
var noRoute = []syscall.Errno{syscall.ENETUNREACH, syscall.EADDRNOTAVAIL, syscall.EPERM, syscall.EACCES}

// couldBeOurs tells whether a dead network of our own could cause a failure. A name that does not exist and a refused or
// reset connection are somebody's answer: the feed's own failure.
func couldBeOurs(e *fetch.Error) bool {
	var dns *net.DNSError
	switch e.Kind {
	case fetch.KindTimeout, fetch.KindTLS:
		return true
	case fetch.KindDNS:
		return e.Local || !errors.As(e, &dns) || !dns.IsNotFound
	case fetch.KindConnect:
		return e.Local || errors.Is(e, syscall.EHOSTUNREACH)
	}
	return e.Local
}

// outageError is errOutage with what made the network look down, and what to do about it ("" if that is not known).
type outageError struct{ why, hint string }

func (e *outageError) Error() string { return errOutage.Error() + ": " + e.why }
func (e *outageError) Unwrap() error { return errOutage }

// blame says in words what made the network look down: what happened most often, with an example.
func blame(held []*finished) *outageError {
	kinds := map[string]int{}
	var example *finished
	for _, f := range held {
		kind := f.result.Feed.LastErrorKind
		if kinds[kind]++; example == nil || kinds[kind] > kinds[example.result.Feed.LastErrorKind] {
			example = f
		}
	}
	if example == nil {
		return &outageError{why: "nothing answered"}
	}
	f := example.result.Feed
	text, hint := f.LastError, ""
	switch e := example.event; {
	case e.notAFeed:
		host := fetch.Redact(example.claim.URL)
		text, hint = host+": "+text, "a login page or a filter answers in place of the sites; open "+host+" in a browser"
	case e.proxy:
		hint = "see whether the proxy is up; --proxy or CRAWL_PROXY names it"
	}
	why := fmt.Sprintf("%d of the last %d feeds in a row failed with %s, as in: %s", kinds[f.LastErrorKind], len(held), f.LastErrorKind, text)
	return &outageError{clip(why, maxError), hint}
}
