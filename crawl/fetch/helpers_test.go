package fetch

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// agent is the user agent of these tests.
const agent = "crawl/1.2 (+https://crawl.example/about)"

// loopback opens this machine to the client under test.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newClient builds a client that may talk to loopback; change adapts its options.
func newClient(t testing.TB, change func(*Options)) *Client {
	t.Helper()
	o := Options{UserAgent: agent, AllowNet: loopback}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// asError returns err as an *Error, which it must be.
func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T %v, not an *Error", err, err)
	}
	return e
}

// outcome gives a GET's kind of failure, "" for none, whether Get or Failure said it.
func outcome(t testing.TB, r *Response, err error) *Error {
	t.Helper()
	if err != nil {
		return asError(t, err)
	}
	return r.Failure()
}

// rawServer is a server of bytes: what answer writes is what is sent, right or not. It keeps the heads of the requests it saw.
type rawServer struct {
	URL     string
	listen  net.Listener
	running sync.WaitGroup
	mu      sync.Mutex
	heads   []string
}

// newRawServer starts one, of HTTPS if there is a config. answer is called for each connection when its request's head is in; the connection is closed when it
// returns.
func newRawServer(t testing.TB, config *tls.Config, answer func(c net.Conn, head string)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{URL: "http://" + l.Addr().String(), listen: l}
	if config != nil {
		s.URL, l = "https://"+l.Addr().String(), tls.NewListener(l, config)
	}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() {
				defer c.Close()
				head, err := readHead(bufio.NewReader(c))
				if err != nil {
					return
				}
				s.mu.Lock()
				s.heads = append(s.heads, head)
				s.mu.Unlock()
				answer(c, head)
			})
		}
	})
	t.Cleanup(s.close)
	return s
}

// close stops the server when it has seen all that was sent to it.
func (s *rawServer) close() {
	s.listen.Close()
	s.running.Wait()
}

// readHead reads a request up to its empty line.
func readHead(r *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		head.WriteString(line)
		if err != nil || line == "\r\n" {
			return head.String(), err
		}
	}
}

// requests returns the heads seen so far.
func (s *rawServer) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.heads...)
}

// seen records the requests of a net/http handler.
type seen struct {
	mu   sync.Mutex
	list []*http.Request
}

func (s *seen) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r.Clone(r.Context()))
}

func (s *seen) all() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.list...)
}

// quiet swallows what servers log about clients that go away.
var quiet = log.New(io.Discard, "", 0)

func mustParse(raw string) *url.URL {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

// String leaves the body out.
func (r *Response) String() string {
	if r == nil {
		return "no response"
	}
	return fmt.Sprintf("%d %s, %d bytes, truncated %s %q, bot check %v, retry after %v %v, %d requests", r.Status, r.URL, len(r.Body),
		r.TruncatedKind, r.Truncated, r.BotCheck, r.RetryAfter, r.RetryAfterCapped, r.Requests)
}

// printable says whether s is printable ASCII, in one line.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// serveOn starts a server on an address of this machine and returns its URL.
func serveOn(t testing.TB, addr string, handler http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp4", addr+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
