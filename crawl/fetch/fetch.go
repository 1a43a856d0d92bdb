// Package fetch is one polite, safe HTTP GET. It knows nothing of feeds or databases; what an answer means for a feed is
// decided by its caller. Rules are named by their number in README.md beside this file.
//
// A GET is a chain of hops (redirects followed), each hop one request; an answer is a whole HTTP response whatever its
// status; validators are the ETag and Last-Modified that make a GET conditional; a coding is a Content-Encoding.
package fetch

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// DefaultMaxBody is Options.MaxBody where that is zero, in bytes.
const DefaultMaxBody = 16 << 20

// Options configure a Client. Zero values mean the defaults given.
type Options struct {
	UserAgent      string         // required
	Timeout        time.Duration  // whole GET, redirects included, and again for waits for memory; 60s
	ConnectTimeout time.Duration  // name resolution and connection, and again the TLS handshake; 10s
	HeaderTimeout  time.Duration  // from the request to the end of the answer's header; 20s
	MaxBody        int64          // decoded bytes of one body; 16 MiB
	MaxMemory      int64          // bytes of all bodies under way, at least what one of MaxBody needs; 256 MiB
	AllowNet       []netip.Prefix // networks that the address guard opens, on any port
	Proxy          *url.URL       // http, https or socks5; behind one, only literal addresses are guarded
	Sessions       []byte         // what Client.Sessions of an earlier client gave (Q11)
	Now            func() time.Time
}

// withDefaults fills what is zero.
func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 10*time.Second)
	o.HeaderTimeout = cmp.Or(o.HeaderTimeout, 20*time.Second)
	o.MaxBody = cmp.Or(o.MaxBody, DefaultMaxBody)
	o.MaxMemory = cmp.Or(o.MaxMemory, 256<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// check names the first option that cannot be.
func (o Options) check() error {
	switch {
	case o.UserAgent == "" || !httpguts.ValidHeaderFieldValue(o.UserAgent):
		return errors.New("fetch: the user agent is missing or cannot stand in a header")
	case o.Timeout < 0 || o.ConnectTimeout < 0 || o.HeaderTimeout < 0:
		return errors.New("fetch: a time limit is negative")
	case o.MaxBody < 0 || o.MaxBody > 1<<30 || o.MaxMemory < 0:
		return errors.New("fetch: a size limit is negative, or that of a body over 1 GiB")
	case o.Proxy != nil:
		if _, err := parseProxy(o.Proxy.String()); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
	}
	return nil
}

// Client makes GETs. Safe for concurrent use.
type Client struct {
	o        Options
	guard    *guard
	resolver *net.Resolver // nil: the system's
	slow     rate          // what a body must bring
	memory   *memory
	decoding chan struct{} // one token for each body that is being decoded
	sessions *sessions
	sequence atomic.Int64 // counts events: GETs that begin, names that are resolved
	resolved atomic.Int64 // the sequence number of the resolver's last answer

	// What tests put something else in the place of.
	tlsConfig func(*tls.Config)
	dial      dial // without a proxy

	mu         sync.Mutex
	transports map[route]*http.Transport
}

// New checks the options and builds the client (no network, cheap).
func New(o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c := &Client{
		o:          o,
		guard:      newGuard(o.AllowNet),
		slow:       rate{bytes: 10 << 10, crowded: 640 << 10, window: 10 * time.Second},
		memory:     newMemory(o.MaxMemory, o.MaxBody),
		decoding:   make(chan struct{}, runtime.GOMAXPROCS(0)),
		sessions:   unmarshalSessions(o.Sessions, o.Now),
		transports: map[route]*http.Transport{},
	}
	c.dial = c.dialGuarded
	return c, nil
}

// Sessions gives the TLS sessions of this client's hosts and of those before it, for a later client; nil if they are those it was
// given. They hold keys: who has them and a recording of a connection that resumed one can read it.
func (c *Client) Sessions() []byte { return c.sessions.marshal() }

// Close drops idle connections.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}
