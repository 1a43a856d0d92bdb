package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

// The causes by which a GET ends itself.
var (
	errTotal  = errors.New("time limit of the whole GET")
	errSlow   = errors.New("the body drips")
	errBefore = errors.New("not to be sent")
	errAgain  = errors.New("net/http would send the request again")

	errObstructs = errors.New("the body is slow while others wait for memory")
)

// maxConnections is the most connections that one hop may take of net/http, which makes another, without pause, whenever one of HTTP/2
// is of no use when it is there: the server may have ended it, or another GET of this host may have been first.
const maxConnections = 8

// get is one GET under way.
type get struct {
	c             *Client
	r             Request
	parent        context.Context
	ctx           context.Context
	cancel        context.CancelCauseFunc
	transport     *http.Transport
	first, url    *url.URL // of the chain, and of the hop at hand
	at            string   // url as text
	validatorsURL string
	chain         chain
	cookies       cookies
	hold          *hold
	stopwatch     stopwatch
	sequence      int64 // Client.sequence at the start
	proxied       bool

	conditional  bool  // the hop at hand carries validators
	before       error // what Request.Before said
	requests     int
	bytes        int64
	answered     bool
	gotAllowed   bool        // the hop's connection leads into a network of AllowNet
	triedAllowed atomic.Bool // an address of AllowNet was tried; set by dialling goroutines
	connections  int         // of the hop
	wrote        atomic.Bool // the hop's request may have gone out; set by HTTP/2's goroutines
}

// getKey finds the get in a dialling context.
type getKey struct{}

// Get makes one GET with its redirects. It returns a *Response for every whole HTTP answer, else an error that is an *Error, or
// wraps the context's cause when ctx ended it (not a timeout of its own), or Before's error, or is an *Onward if r.Turns is set.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	g := &get{c: c, r: r, hold: &hold{m: c.memory}, stopwatch: stopwatch{own: c.o.Timeout, wait: c.o.Timeout}}
	if err := g.prepare(); err != nil {
		return nil, err
	}
	return g.run(ctx)
}

// run goes on from the hop at hand, within what is left of the time.
func (g *get) run(ctx context.Context) (*Response, error) {
	g.parent, g.sequence, g.answered = ctx, g.c.sequence.Add(1), false
	ctx = context.WithValue(ctx, getKey{}, g)
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	defer g.cancel(nil)
	g.startClock()
	defer g.stopClock()
	response, err := g.follow()
	if err != nil {
		g.hold.release()
		return nil, err
	}
	return response, nil
}

// prepare checks the request; nothing is sent if it cannot be right.
func (g *get) prepare() error {
	var err error
	if g.first, err = parseURL(g.r.URL); err != nil {
		return &Error{Kind: KindAddress, Err: err, text: err.Error()}
	}
	g.url, g.at = g.first, g.first.String()
	if err = g.c.guard.checkURL(g.url); err != nil {
		return g.fail(KindAddress, err.Error(), err)
	}
	if err = g.r.check(); err != nil {
		return g.fail(KindHTTP, err.Error(), err)
	}
	if g.transport, err = g.c.transport(&g.r); err != nil {
		return g.fail(KindConnect, err.Error(), err) // the feed's own proxy is no URL
	}
	g.proxied = g.transport.Proxy != nil
	g.validatorsURL = g.at
	if g.r.ValidatorsURL != "" && g.r.ValidatorsURL != g.r.URL {
		if u, err := parseURL(g.r.ValidatorsURL); err == nil {
			g.validatorsURL = u.String()
		} else {
			g.validatorsURL = ""
		}
	}
	return nil
}

// send makes the request of one hop and waits for the header of its answer.
func (g *get) send() (*http.Response, error) {
	g.gotAllowed, g.connections = false, 0
	g.triedAllowed.Store(false)
	g.wrote.Store(false)
	var answer *http.Response
	var err error
	if g.url.Scheme == "http" && !g.proxied {
		answer, err = g.plain()
	} else {
		sent, dropped := g.requests, g.c.sessions.dropped(g.serverName())
		answer, err = g.roundTrip()
		// A handshake may have failed because it tried to resume a session (rule Q11).
		if err != nil && g.requests == sent && g.c.sessions.dropped(g.serverName()) > dropped && g.ctx.Err() == nil && g.timeout(err) == nil {
			answer, err = g.roundTrip()
		}
	}
	g.noteResolver(err)
	if err != nil {
		return nil, g.classify(err)
	}
	g.answered = true
	return answer, nil
}

// roundTrip leaves the request to a Transport: TLS, HTTP/2, proxies.
func (g *get) roundTrip() (*http.Response, error) {
	host, kept := g.serverName(), g.transport.TLSClientConfig.ClientSessionCache == g.c.sessions
	trace := &httptrace.ClientTrace{
		GetConn: g.getConn,
		GotConn: func(info httptrace.GotConnInfo) { g.gotConn(info.Conn) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err == nil && !state.DidResume && kept {
				g.c.sessions.verify(cmp.Or(state.ServerName, host)) // it may be a proxy's; that of an address is not in the state
			}
		},
		WroteHeaders: func() { g.wrote.Store(true) },
	}
	request := (&http.Request{
		Method: http.MethodGet, URL: g.url, Host: g.url.Host, Header: g.fields().header(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(httptrace.WithClientTrace(g.ctx, trace))
	return g.transport.RoundTrip(request)
}

// getConn runs when a connection is looked for. What has been sent is not sent again (rule Q1), though net/http would, over and over,
// where a server of HTTP/2 refuses a stream.
func (g *get) getConn(string) {
	if g.connections++; g.connections > maxConnections || g.wrote.Load() {
		g.cancel(errAgain)
	}
}

// serverName is the hop's host as net/http calls it in TLS, and in a ClientSessionCache.
func (g *get) serverName() string { return strings.TrimSuffix(g.url.Host, ":"+g.url.Port()) }

// gotConn runs when a connection is there and nothing of the request has been written to it. If Before says no, the connection is
// closed under the transport's hands (HTTP/2, where others may be using it, looks at the context before it writes).
func (g *get) gotConn(conn net.Conn) {
	if g.wrote.Load() { // HTTP/2 found a connection without looking for one
		g.cancel(errAgain)
		return
	}
	if len(g.c.guard.allow) > 0 && !g.proxied {
		if to, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
			g.gotAllowed = g.c.guard.allowed(to.AddrPort().Addr())
		}
	}
	if g.r.Before != nil && g.before == nil {
		g.before = g.r.Before()
	}
	if g.before == nil {
		g.requests++
		return
	}
	g.cancel(errBefore)
	if t, ok := conn.(*tls.Conn); !ok || t.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
	}
}

// finish turns the answer that ends the chain into a Response.
func (g *get) finish(answer *http.Response) (*Response, error) {
	h := answer.Header
	from, ok := parseDate(h.Get("Date"))
	if !ok {
		from = g.c.o.Now()
	}
	r := &Response{
		Status:       answer.StatusCode,
		URL:          g.at,
		Hops:         g.chain.hops,
		PermanentURL: g.chain.permanentURL(),
		ETag:         h.Get("Etag"),
		LastModified: h.Get("Last-Modified"),
		ContentType:  h.Get("Content-Type"),
		Fresh:        freshness(h, from),
		BotCheck:     botCheck(answer.StatusCode, h),
		Conditional:  g.conditional,
		AllowedNet:   g.gotAllowed,
	}
	if r.Status >= 400 {
		r.RetryAfter, r.RetryAfterCapped = retryAfter(h.Get("Retry-After"), from)
	}
	if readable(r.Status) {
		if err := g.read(answer, r); err != nil {
			return nil, err
		}
	}
	r.Requests, r.Bytes, r.Elapsed = g.requests, g.bytes, g.ownTime()
	return r, nil
}

// ended returns the error of a GET that was ended from outside, or nil.
func (g *get) ended() error {
	if g.before != nil {
		return fmt.Errorf("%s: %w", Redact(g.at), g.before)
	}
	if g.parent.Err() != nil {
		return fmt.Errorf("get %s: %w", Redact(g.at), context.Cause(g.parent))
	}
	return nil
}

// fail is an *Error about the hop at hand.
func (g *get) fail(kind Kind, text string, err error) *Error {
	return &Error{
		Kind: kind, Answered: g.answered, AllowedNet: g.gotAllowed || g.triedAllowed.Load(), Requests: g.requests, Err: err,
		text: g.url.Scheme + "://" + g.url.Host + ": " + text,
	}
}
