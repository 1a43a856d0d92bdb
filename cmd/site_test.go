package cmd

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// site is a web of many hosts on loopback. Each feed has a host of its own: an address 127.x.y.z, which is a registrable domain of
// its own, too. The site logs every request and knows what it has served, which is what the database must hold.
type site struct {
	t       testing.TB
	octet   byte
	server  *http.Server
	clients clients
	closing chan struct{}
	hosts   int

	mu     sync.Mutex
	news   *sync.Cond // signalled at each request and each answer
	feeds  []*siteFeed
	byHost map[string]*siteFeed
	log    []*siteRequest
}

// siteRequest is one request as the server saw it.
type siteRequest struct {
	feed   *siteFeed
	at     time.Time
	header http.Header
	status int  // 0 until an answer was written to its end
	gone   bool // the client did not wait for it
}

var siteNumber atomic.Int32

// newSite starts a server without feeds; it ends with the test.
func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, octet: byte(10 + siteNumber.Add(1)%200), closing: make(chan struct{}), byHost: map[string]*siteFeed{}}
	s.news = sync.NewCond(&s.mu)
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ConnState: s.clients.note}
	t.Cleanup(func() {
		close(s.closing)
		s.server.Close()
	})
	return s
}

// listen opens one more host and returns its authority.
func (s *site) listen() string {
	s.t.Helper()
	listener, err := net.Listen("tcp4", s.address()+":0")
	if err != nil {
		s.t.Fatal(err)
	}
	go s.server.Serve(listener)
	s.clients.hosts = append(s.clients.hosts, listener.Addr().String())
	return listener.Addr().String()
}

// clients knows the hosts of a server and how many connections it has.
type clients struct {
	hosts []string
	open  atomic.Int32
}

// note is a server's ConnState.
func (c *clients) note(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateHijacked, http.StateClosed:
		c.open.Add(-1)
	}
}

// settle waits until the server has no connection any more, after the end of a program that was stopped: what that sent last may come in
// later. Each host is asked once more, for it accepts its connections in their order.
func (c *clients) settle(t testing.TB) {
	t.Helper()
	for _, host := range c.hosts {
		conn, err := net.Dial("tcp4", host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "?\r\n\r\n") // no request: it is answered, and not logged
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	for end := time.Now().Add(time.Minute); c.open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are still open", c.open.Load())
		}
	}
}

// refuse is the authority of a host that refuses connections: its port is bound, so that nobody else gets it, and nobody listens.
func (s *site) refuse() string {
	s.t.Helper()
	ip := s.address()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { syscall.Close(socket) })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte(net.ParseIP(ip).To4())}); err != nil {
		s.t.Fatal(err)
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("%s:%d", ip, bound.(*syscall.SockaddrInet4).Port)
}

func (s *site) address() string {
	n := s.hosts
	s.hosts++
	return fmt.Sprintf("127.%d.%d.%d", s.octet, n/250, 1+n%250)
}

// serve logs the request, waits at the feed's gate and answers as the feed is told to.
func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.byHost[r.Host]
	if f == nil || r.URL.Path != feedPath {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	entry := &siteRequest{feed: f, at: time.Now(), header: r.Header.Clone()}
	s.log = append(s.log, entry)
	a, gate, delay := f.answer(r), f.gate, f.delay
	s.news.Broadcast()
	s.mu.Unlock()

	time.Sleep(delay)
	whole := s.pass(r, gate) && s.write(w, r, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !whole {
		entry.gone = true
		return
	}
	entry.status = a.status
	f.remember(a)
	s.news.Broadcast()
}

// pass waits until the gate opens. It is false when the client has gone or the site closes.
func (s *site) pass(r *http.Request, gate chan struct{}) bool {
	if gate == nil {
		return true
	}
	select {
	case <-gate:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// write sends the answer and says whether it went out whole.
func (s *site) write(w http.ResponseWriter, r *http.Request, a answer) bool {
	switch a.behave {
	case hangs:
		return s.pass(r, make(chan struct{}))
	case resets:
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
		return false
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	_, err := io.Copy(w, strings.NewReader(a.body))
	return err == nil
}

// requests returns what came in since the last cut.
func (s *site) requests() []siteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copyLog()
}

// cut returns the requests so far and begins a new log.
func (s *site) cut() []siteRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.copyLog()
	s.log = nil
	return log
}

func (s *site) copyLog() []siteRequest {
	var log []siteRequest
	for _, r := range s.log {
		log = append(log, *r)
	}
	return log
}

// await waits until the log since the last cut is as wanted, at most a minute.
func (s *site) await(t testing.TB, what string, wanted func([]siteRequest) bool) {
	t.Helper()
	const limit = time.Minute
	timer := time.AfterFunc(limit, s.news.Broadcast)
	defer timer.Stop()
	end := time.Now().Add(limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	for !wanted(s.copyLog()) {
		if !time.Now().Before(end) {
			t.Fatalf("%s did not come; the log has %d requests", what, len(s.log))
		}
		s.news.Wait()
	}
}

// arrived is for await: at least n requests came in.
func arrived(n int) func([]siteRequest) bool {
	return func(log []siteRequest) bool { return len(log) >= n }
}

// answered is for await: at least n answers were written.
func answered(n int) func([]siteRequest) bool {
	return func(log []siteRequest) bool {
		count := 0
		for _, r := range log {
			if r.status != 0 {
				count++
			}
		}
		return count >= n
	}
}

// perFeed counts requests.
func perFeed(log []siteRequest) map[*siteFeed]int {
	count := map[*siteFeed]int{}
	for _, r := range log {
		count[r.feed]++
	}
	return count
}

// edit changes feeds while the server runs.
func (s *site) edit(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
