package fetch

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// visit makes one GET with a client of its own, which is given the sessions of an earlier one, and returns those for the next.
func visit(t *testing.T, url string, trust func(*tls.Config), sessions []byte) []byte {
	t.Helper()
	c := newClient(t, func(o *Options) { o.Sessions = sessions })
	c.tlsConfig = trust
	r, err := c.Get(t.Context(), Request{URL: url})
	if err != nil || string(r.Body) != "<rss/>" || r.Requests != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	return c.Sessions()
}

// TestSessionsOutliveTheirClient: the next run's visit resumes, in either version of TLS; the one after it as well.
func TestSessionsOutliveTheirClient(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			var requests seen
			s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
				requests.add(r)
				w.Write([]byte("<rss/>"))
			})
			s.TLS.MaxVersion = version
			var sessions []byte
			for range 3 {
				if more := visit(t, s.URL, c.tlsConfig, sessions); more != nil { // a session of TLS 1.2 is used again
					sessions = more
				}
			}
			for i, r := range requests.all() {
				if r.TLS.DidResume != (i > 0) || r.TLS.Version != version {
					t.Errorf("visit %d: resumed %v, %s", i, r.TLS.DidResume, tls.VersionName(r.TLS.Version))
				}
			}
		})
	}
}

// TestSessionsBelongToOneRoute: what a feed does over a proxy or without verification is not told by its sessions to a server that is
// visited otherwise.
func TestSessionsBelongToOneRoute(t *testing.T) {
	var requests seen
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { requests.add(r) })
	for _, insecure := range []bool{false, true, false, true} {
		if _, err := c.Get(t.Context(), Request{URL: s.URL, Insecure: insecure}); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range requests.all() {
		if r.TLS.DidResume != (i >= 2) {
			t.Errorf("request %d: resumed %v", i, r.TLS.DidResume)
		}
	}
}

// TestRefusedSession: a server that cannot stand a session is asked again without one, at once, and for one request; one that cannot
// stand anything is not asked again and again.
func TestRefusedSession(t *testing.T) {
	var handshakes, requests atomic.Int32
	var broken atomic.Bool
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Write([]byte("<rss/>"))
	})
	s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		handshakes.Add(1)
		const preSharedKey = 41
		if broken.Load() || slices.Contains(hello.Extensions, preSharedKey) {
			return nil, errors.New("no")
		}
		return nil, nil
	}
	sessions := visit(t, s.URL, c.tlsConfig, nil)
	visit(t, s.URL, c.tlsConfig, sessions)
	if h, r := handshakes.Load(), requests.Load(); h != 3 || r != 2 {
		t.Errorf("%d handshakes and %d requests for two visits, the second with a session", h, r)
	}
	broken.Store(true)
	handshakes.Store(0)
	second := newClient(t, func(o *Options) { o.Sessions = sessions })
	second.tlsConfig = c.tlsConfig
	_, err := second.Get(t.Context(), Request{URL: s.URL})
	if e := asError(t, err); e.Kind != KindTLS || e.Requests != 0 || handshakes.Load() != 2 {
		t.Errorf("%s after %d handshakes: %v", e.Kind, handshakes.Load(), e)
	}
	_, err = second.Get(t.Context(), Request{URL: s.URL})
	if asError(t, err); handshakes.Load() != 3 {
		t.Errorf("%d handshakes after a GET without a session", handshakes.Load())
	}
}

// TestRefusedSessions: of several GETs of one host at a time none fails for its session.
func TestRefusedSessions(t *testing.T) {
	var requests atomic.Int32
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Write([]byte("<rss/>"))
	})
	sessions := visit(t, s.URL, c.tlsConfig, nil)
	var together sync.WaitGroup
	together.Add(4)
	var handshakes atomic.Int32
	s.TLS.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if handshakes.Add(1) <= 4 {
			together.Done()
			together.Wait()
			return nil, errors.New("no")
		}
		return nil, nil
	}
	second := newClient(t, func(o *Options) { o.Sessions = sessions })
	second.tlsConfig = c.tlsConfig
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if r, err := second.Get(t.Context(), Request{URL: s.URL}); err != nil || string(r.Body) != "<rss/>" {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	all.Wait()
	if n := requests.Load(); n != 1+4 {
		t.Errorf("%d requests for 1 and 4 visits", n)
	}
}

// TestSessionsEndAfterAWeek: however often a session is resumed, the certificate is verified anew after a week.
func TestSessionsEndAfterAWeek(t *testing.T) {
	var requests seen
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { requests.add(r) })
	now := time.Now()
	var sessions []byte
	for range 17 {
		again := newClient(t, func(o *Options) { o.Sessions, o.Now = sessions, func() time.Time { return now } })
		again.tlsConfig = c.tlsConfig
		if _, err := again.Get(t.Context(), Request{URL: s.URL}); err != nil {
			t.Fatal(err)
		}
		sessions = again.Sessions()
		now = now.Add(12 * time.Hour)
	}
	for i, r := range requests.all() {
		if whole := i == 0 || i == 15; r.TLS.DidResume == whole {
			t.Errorf("visit %d, after %.1f days: resumed %v", i, float64(i)/2, r.TLS.DidResume)
		}
	}
}

// TestSessionsOfNoUse: bytes that are not what an earlier client gave, or no longer right, cost a whole handshake and nothing else.
func TestSessionsOfNoUse(t *testing.T) {
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<rss/>")) })
	good := visit(t, s.URL, c.tlsConfig, nil)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		bad := slices.Clone(good)
		if n%2 == 0 {
			bad = bad[:random.IntN(len(bad))]
		} else {
			bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		}
		if s := unmarshalSessions(bad, time.Now); len(s.hosts) != 0 {
			t.Errorf("%d of %d bytes, one perhaps changed, were taken for sessions", len(bad), len(good))
		}
		if n < 10 {
			visit(t, s.URL, c.tlsConfig, bad)
		}
	}
	// Whole, but with a state or a ticket that cannot be.
	for name, spoil := range map[string]func(*session){
		"no state":         func(one *session) { one.encoded = nil },
		"another state":    func(one *session) { one.encoded = []byte{3, 1, 2, 3, 0} },
		"state of a cert":  func(one *session) { one.encoded = []byte{0, 99} },
		"no ticket":        func(one *session) { one.ticket = nil },
		"another's ticket": func(one *session) { one.ticket = bytes.Repeat([]byte("x"), len(one.ticket)) },
	} {
		t.Run(name, func(t *testing.T) {
			some := unmarshalSessions(good, time.Now)
			if len(some.hosts) != 1 {
				t.Fatalf("%d sessions", len(some.hosts))
			}
			spoiled := newClient(t, nil)
			spoiled.tlsConfig = c.tlsConfig
			for host, one := range some.hosts {
				spoil(&one)
				some.hosts[host] = one
			}
			spoiled.sessions = some
			if r, err := spoiled.Get(t.Context(), Request{URL: s.URL}); err != nil || string(r.Body) != "<rss/>" {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// TestSessionsAreBounded: in number of bytes in memory and on disk, each in size, and in age; the newest stay.
func TestSessionsAreBounded(t *testing.T) {
	now := time.Now()
	s := newSessions(func() time.Time { return now })
	state := slices.Concat(make([]byte, 1500), certificateOf(1500))
	for n := range 30_000 { // 90 MB, half of it certificates
		copy(state, fmt.Sprintf("%08d", n))
		copy(state[len(state)-8:], fmt.Sprintf("%08d", n))
		s.keep(fmt.Sprint(n), session{verified: now.Add(time.Duration(n-30_000) * time.Second).Unix(), ticket: []byte("ticket"), encoded: state})
	}
	certificates := 0
	for _, der := range s.certs.all {
		certificates += len(der)
	}
	if sum := s.size + certificates; sum > maxSessions || sum < maxSessions*9/10 || certificates < maxSessions/3 {
		t.Errorf("%d bytes in memory, %d of them certificates", sum, certificates)
	}
	s.keep("large", session{verified: now.Unix(), ticket: []byte("ticket"), encoded: make([]byte, maxSession)})
	if _, ok := s.hosts["large"]; ok {
		t.Error("a session over the limit was kept")
	}
	s.remove("1")
	s.keep("0", session{verified: now.Unix(), ticket: []byte("newest"), encoded: state[:1000]})
	s.changed = true
	data := s.marshal()
	if len(data) > sessionsOnDisk*11/10 {
		t.Errorf("%d bytes on disk", len(data))
	}
	again := unmarshalSessions(data, s.now)
	if string(again.hosts["0"].ticket) != "newest" || len(again.hosts) < 4000 {
		t.Errorf("%d sessions come back, that of host 0 with ticket %q", len(again.hosts), again.hosts["0"].ticket)
	}
	for host, one := range again.hosts {
		if encoded, ok := again.certs.unpack(one.encoded); !ok || len(encoded) != len(state) && host != "0" {
			t.Fatalf("host %s came back with %d bytes", host, len(encoded))
		}
	}
	now = now.Add(sessionAge - 10*time.Minute)
	if late := unmarshalSessions(data, s.now); len(late.hosts) != 1 {
		t.Errorf("%d sessions of 8 hours and one that is newer are left after a week", len(late.hosts))
	}
	now = now.Add(time.Hour)
	if late := unmarshalSessions(data, s.now); len(late.hosts) != 0 {
		t.Errorf("%d sessions are left after a week", len(late.hosts))
	}
}

// certificateOf is what certificates take for a certificate, with its length before it.
func certificateOf(size int) []byte {
	b := make([]byte, 3+size)
	copy(b, []byte{0, byte(size >> 8), byte(size), 0x30, 0x82, byte((size - 4) >> 8), byte(size - 4)})
	return b
}

// TestCertificatesOnce: sessions of one issuer share its certificate, and each comes back byte for byte.
func TestCertificatesOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	der := func(size int) []byte {
		b := certificateOf(size)
		for i := range b[7:] {
			b[7+i] = byte(random.Uint32())
		}
		return b
	}
	issuer := der(1500)
	c := newCertificates()
	var states, packed [][]byte
	for n := range 200 {
		state := slices.Concat([]byte{3, 4, byte(n)}, der(257+random.IntN(900)), issuer, []byte("30"), issuer, []byte{0x30, 0x82, byte(n)})
		if n%5 == 0 {
			state = state[:random.IntN(len(state))]
		}
		states, packed = append(states, state), append(packed, c.pack(state))
	}
	sum := 0
	for n := range states {
		sum += len(packed[n])
		if got, ok := c.unpack(packed[n]); !ok || !bytes.Equal(got, states[n]) {
			t.Fatalf("state %d comes back as %d bytes of %d", n, len(got), len(states[n]))
		}
	}
	if got := bytes.Count(slices.Concat(c.all...), issuer[3:]); got != 1 {
		t.Errorf("the issuer is kept %d times", got)
	}
	if sum > 200*400 {
		t.Errorf("%d bytes beside the certificates", sum)
	}
}

// TestSessionsUnchanged: a run without TLS has nothing to write.
func TestSessionsUnchanged(t *testing.T) {
	c := newClient(t, nil)
	s := newRawServer(t, nil, func(conn net.Conn, _ string) { conn.Write([]byte("HTTP/1.1 204 x\r\n\r\n")) })
	if _, err := c.Get(t.Context(), Request{URL: s.URL}); err != nil {
		t.Fatal(err)
	}
	if b := c.Sessions(); b != nil {
		t.Errorf("%d bytes: %.20q", len(b), strings.TrimSpace(string(b)))
	}
}

func FuzzSessions(f *testing.F) {
	s := newSessions(time.Now)
	s.keep("h", session{verified: time.Now().Unix(), ticket: []byte("t"), encoded: slices.Concat([]byte{1, 0, 1, 44, 0x30, 0x82, 1, 40}, make([]byte, 296))})
	s.changed = true
	f.Add(s.marshal()[len(sessionsHeader)+4:])
	f.Fuzz(func(t *testing.T, body []byte) {
		some := unmarshalSessions(sealSessions(append([]byte(sessionsHeader+"\x00\x00\x00\x00"), body...)), time.Now)
		for host := range some.hosts {
			some.Get(host)
		}
		some.changed = true
		again := unmarshalSessions(some.marshal(), time.Now)
		if len(again.hosts) > len(some.hosts) {
			t.Errorf("%d sessions became %d", len(some.hosts), len(again.hosts))
		}
	})
}
