package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
)

// maxHeader is the most bytes of one answer's header (with those of 1xx answers before it).
const maxHeader = 256 << 10

// route is what tells transports apart.
type route struct {
	proxy    string
	insecure bool
}

// transport returns the transport for a request, building it at first use.
func (c *Client) transport(r *Request) (*http.Transport, error) {
	key := route{r.Proxy, r.Insecure}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.transports[key]; t != nil {
		return t, nil
	}
	proxy := c.o.Proxy
	if r.Proxy != "" {
		var err error
		if proxy, err = parseProxy(r.Proxy); err != nil {
			return nil, err
		}
	}
	t := c.newTransport(proxy, r.Insecure)
	if key != (route{}) { // what one route learnt would tell the server who comes by the other
		t.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(liveSessions)
	}
	c.transports[key] = t
	return t, nil
}

// newTransport builds a transport. Nothing of it comes from the environment (rule Q7). The proxy's own address is
// exempt from the guard, being the user's choice; what the proxy then dials is out of our sight, so behind one only literal
// addresses are guarded (by checkURL).
func (c *Client) newTransport(proxy *url.URL, insecure bool) *http.Transport {
	config := &tls.Config{ClientSessionCache: c.sessions, InsecureSkipVerify: insecure}
	if c.tlsConfig != nil {
		c.tlsConfig(config)
	}
	t := &http.Transport{
		DialContext:            c.bounded(c.dial),
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    c.o.ConnectTimeout,
		ResponseHeaderTimeout:  c.o.HeaderTimeout,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
		DisableKeepAlives:      true, // a host is visited once an hour, and a reused connection makes net/http send a GET twice
		ForceAttemptHTTP2:      true, // rule Q6
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: 256 << 10, MaxReceiveBufferPerConnection: 1 << 20},
		OnProxyConnectResponse: proxyAnswer,
	}
	if proxy != nil {
		t.Proxy, t.DialContext = http.ProxyURL(proxy), c.bounded(c.dialer().DialContext)
	}
	return t
}

func (c *Client) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout:   c.o.ConnectTimeout,
		KeepAlive: -1, // four system calls a connection; the time limits find a dead one
		Resolver:  c.resolver,
	}
}

// dialGuarded connects to a server, unless the guard refuses its address.
func (c *Client) dialGuarded(ctx context.Context, network, address string) (net.Conn, error) {
	d := c.dialer()
	d.ControlContext = c.control
	return d.DialContext(ctx, network, address)
}

// Reach says whether this machine has a way to the host of a URL: its name has an address, and there is a route to that. Near is one that
// is not public, which says nothing of what is beyond the networks that the user has opened. The host hears nothing of it, for a socket of
// UDP sends nothing when it is connected.
func (c *Client) Reach(ctx context.Context, raw string) (near bool, err error) {
	u, err := parseURL(raw)
	if err != nil {
		return false, err
	}
	d := c.dialer()
	d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		near = near || err == nil && (c.guard.allowed(to.Addr()) || c.guard.public.SafeAddr(to.Addr().Unmap()) != nil)
		return nil
	}
	conn, err := d.DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")))
	if err != nil {
		return near, fmt.Errorf("no way to %s: %w", Redact(raw), err)
	}
	return near, conn.Close()
}

// dial is the signature of net.Dialer.DialContext.
type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// bounded is a dial whose connections end when they have brought twice what a body may have: session tickets and frames that carry
// nothing come without end if a server likes, and no limit of net/http counts them.
func (c *Client) bounded(by dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := by(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &boundedConn{conn, 2*c.o.MaxBody + maxHeader}, nil
	}
}

// boundedConn gives no more bytes than are left.
type boundedConn struct {
	net.Conn
	left int64
}

// Read implements io.Reader.
func (c *boundedConn) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errLongAnswer
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// proxyError is a proxy's no to a tunnel.
type proxyError struct{ status int }

func (e *proxyError) Error() string { return "the proxy answered " + statusText(e.status) }

func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode != http.StatusOK {
		return &proxyError{answer.StatusCode}
	}
	return nil
}

// parseProxy reads a proxy's address. Its error names nothing of it: there may be a password inside.
func parseProxy(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" {
		switch u.Scheme {
		case "http", "https", "socks5", "socks5h":
			return u, nil
		}
	}
	return nil, errors.New("the proxy is not a URL of http, https or socks5")
}
