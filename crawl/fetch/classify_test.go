package fetch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// TestNameFailures tells the name's own failures from the resolver's.
func TestNameFailures(t *testing.T) {
	known := names{
		addrs: map[string][]string{"empty.example": nil, "here.example": {"127.0.0.1"}},
		fails: map[string]dnsmessage.RCode{"broken.example": dnsmessage.RCodeServerFailure, "refused.example": dnsmessage.RCodeRefused},
		mute:  map[string]bool{"mute.example": true},
	}
	fresh := func(timeout time.Duration) *Client {
		c := newClient(t, func(o *Options) { o.ConnectTimeout = timeout })
		c.resolver = newResolver(t, known)
		return c
	}
	get := func(c *Client, host string) *Error {
		_, err := c.Get(t.Context(), Request{URL: "http://" + host + ":1/secret", Before: func() error { t.Error("connected"); return nil }})
		return asError(t, err)
	}
	for _, tt := range []struct {
		host    string
		local   bool // when the resolver has said nothing else
		timeout time.Duration
	}{
		{"unknown.example", false, time.Minute}, {"empty.example", false, time.Minute}, {"broken.example", true, time.Minute},
		{"mute.example", true, 300 * time.Millisecond},
	} {
		if e := get(fresh(tt.timeout), tt.host); e.Kind != KindDNS || e.Local != tt.local || e.Answered || strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: kind %s, local %v: %v", tt.host, e.Kind, e.Local, e)
		}
	}
	// While the resolver answers others, one name's trouble is that name's own.
	known.heard = make(chan string, 1)
	c := fresh(2 * time.Second)
	done := make(chan *Error)
	go func() { done <- get(c, "mute.example") }()
	<-known.heard
	get(c, "unknown.example")
	if e := <-done; e.Kind != KindDNS || e.Local {
		t.Errorf("mute while others resolve: kind %s, local %v: %v", e.Kind, e.Local, e)
	}
	if e := get(c, "here.example"); e.Kind != KindConnect || e.Local || !e.AllowedNet {
		t.Errorf("a closed port: kind %s, local %v: %v", e.Kind, e.Local, e)
	}
	dead := newClient(t, nil)
	dead.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp4", "127.0.0.1:1") // nobody listens
	}}
	dead.resolved.Store(1 << 40) // even if it was there before
	if e := get(dead, "a.example"); e.Kind != KindDNS || !e.Local {
		t.Errorf("no resolver: kind %s, local %v: %v", e.Kind, e.Local, e)
	}
}

// TestConnectFailures: which of the kernel's errors are this machine's own.
func TestConnectFailures(t *testing.T) {
	for _, tt := range []struct {
		err   error
		kind  Kind
		local bool
	}{
		{syscall.ENETUNREACH, KindConnect, true}, {syscall.ENETDOWN, KindConnect, true}, {syscall.EADDRNOTAVAIL, KindConnect, true},
		{syscall.EMFILE, KindConnect, true}, {syscall.ENFILE, KindConnect, true}, {syscall.EPERM, KindConnect, true},
		{syscall.ECONNREFUSED, KindConnect, false}, {syscall.EHOSTUNREACH, KindConnect, false}, {syscall.ECONNRESET, KindConnect, false},
		{syscall.ETIMEDOUT, KindTimeout, false}, {os.ErrDeadlineExceeded, KindTimeout, false}, {errors.New("secret"), KindConnect, false},
	} {
		c := newClient(t, nil)
		c.dial = func(context.Context, string, string) (net.Conn, error) {
			err := tt.err
			if _, ok := err.(syscall.Errno); ok {
				err = os.NewSyscallError("connect", err)
			}
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
		_, err := c.Get(t.Context(), Request{URL: "https://a.example/secret"})
		e := asError(t, err)
		if e.Kind != tt.kind || e.Local != tt.local || e.Answered || !errors.Is(e, tt.err) || strings.Contains(e.Error(), "secret") ||
			!strings.HasPrefix(e.Error(), "https://a.example: ") {
			t.Errorf("%v: kind %s, local %v: %v", tt.err, e.Kind, e.Local, e)
		}
	}
}

// TestOwnProxyFailures: a feed's own proxy that cannot be reached is the feed's trouble, unless this machine or its resolver could not even
// look for it.
func TestOwnProxyFailures(t *testing.T) {
	for errno, local := range map[syscall.Errno]bool{
		syscall.ENETUNREACH: true, syscall.ENETDOWN: true, syscall.EMFILE: true, syscall.EADDRNOTAVAIL: true,
		syscall.ECONNREFUSED: false, syscall.EHOSTUNREACH: false, syscall.ETIMEDOUT: false, syscall.ECONNRESET: false,
	} {
		g := &get{c: newClient(t, nil), r: Request{Proxy: "http://proxy.example"}, url: mustParse("http://a.example/")}
		dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		if e := g.proxyFailure(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial}); e.Kind != KindConnect || e.Local != local {
			t.Errorf("%v: %s, local %v", errno, e.Kind, e.Local)
		}
	}
	known := names{
		addrs: map[string][]string{"here.example": {"127.0.0.1"}},
		fails: map[string]dnsmessage.RCode{"broken.example": dnsmessage.RCodeServerFailure},
		mute:  map[string]bool{"mute.example": true},
	}
	get := func(c *Client, proxy string) bool {
		_, err := c.Get(t.Context(), Request{URL: "http://a.example/", Proxy: "http://" + proxy + ":1"})
		e := asError(t, err)
		if e.Kind != KindConnect || e.Answered {
			t.Errorf("%s: kind %s: %v", proxy, e.Kind, e)
		}
		return e.Local
	}
	fresh := func(timeout time.Duration) *Client {
		c := newClient(t, func(o *Options) { o.ConnectTimeout = timeout })
		c.resolver = newResolver(t, known)
		return c
	}
	for proxy, local := range map[string]bool{"unknown.example": false, "here.example": false, "broken.example": true} {
		if got := get(fresh(time.Minute), proxy); got != local {
			t.Errorf("%s: local %v", proxy, got)
		}
	}
	if !get(fresh(300*time.Millisecond), "mute.example") {
		t.Error("a resolver that says nothing, and the proxy is blamed")
	}
	// While the resolver finds the proxies of others, one that it does not find is that feed's trouble.
	known.heard = make(chan string, 1)
	c := fresh(2 * time.Second)
	done := make(chan bool)
	go func() { done <- get(c, "mute.example") }()
	<-known.heard
	get(c, "here.example")
	if <-done {
		t.Error("a name without answer while others resolve is this machine's fault")
	}
	dead := newClient(t, nil)
	dead.resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "udp", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
	}}
	if !get(dead, "proxy.example") {
		t.Error("no resolver, and the proxy is blamed")
	}
}

// TestClosedPort is the most usual of them, on a real socket.
func TestClosedPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = newClient(t, nil).Get(t.Context(), Request{URL: "http://" + l.Addr().String()})
	if e := asError(t, err); e.Kind != KindConnect || e.Local || !e.AllowedNet || !strings.Contains(e.Error(), "connection refused") {
		t.Errorf("%s, local %v, allowed %v: %v", e.Kind, e.Local, e.AllowedNet, e)
	}
}

// TestTLSFailures: the reason is named, in words that are ours.
func TestTLSFailures(t *testing.T) {
	now := time.Now()
	authority := newAuthority(t)
	for _, tt := range []struct {
		name   string
		config *tls.Config
		raw    string // what is said instead of TLS
		says   string
	}{
		{name: "right", config: serverConfig(authority.issue(t, "127.0.0.1", now.Add(time.Hour)))},
		{name: "expired", config: serverConfig(authority.issue(t, "127.0.0.1", now.Add(-time.Hour))), says: "has expired or is not yet valid"},
		{name: "another host", config: serverConfig(authority.issue(t, "192.0.2.1", now.Add(time.Hour))), says: "is for another host"},
		{name: "another authority", config: serverConfig(newAuthority(t).issue(t, "127.0.0.1", now.Add(time.Hour))), says: "unknown authority"},
		{name: "TLS 1.1", config: func() *tls.Config {
			c := serverConfig(authority.issue(t, "127.0.0.1", now.Add(time.Hour)))
			c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			return c
		}(), says: "TLS handshake"},
		{name: "plain HTTP", raw: "HTTP/1.1 400 secret\r\n\r\n", says: "does not speak TLS"},
		{name: "noise", raw: "secret secret secret", says: "does not speak TLS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := newHandshaker(t, tt.config, tt.raw)
			c := newClient(t, func(o *Options) { o.Timeout = 10 * time.Second })
			c.tlsConfig = func(config *tls.Config) { config.RootCAs = authority.pool }
			r, err := c.Get(t.Context(), Request{URL: "https://" + at + "/secret"})
			if tt.says == "" {
				if err != nil || string(r.Body) != "<rss/>" {
					t.Errorf("%v %v", r, err)
				}
				return
			}
			e := asError(t, err)
			if e.Kind != KindTLS || e.Local || e.Answered || !e.AllowedNet || !strings.Contains(e.Error(), tt.says) || strings.Contains(e.Error(), "secret") {
				t.Errorf("%s: %v", e.Kind, e)
			}
		})
	}
}

// newHandshaker starts a server that answers over TLS, or with raw bytes instead, and returns its address.
func newHandshaker(t *testing.T, config *tls.Config, raw string) string {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	handshake := func(conn net.Conn) {
		defer conn.Close()
		if raw != "" {
			io.WriteString(conn, raw)
			io.CopyN(io.Discard, conn, 100)
			return
		}
		secure := tls.Server(conn, config)
		io.CopyN(io.Discard, secure, 20)
		io.WriteString(secure, ok("", "<rss/>"))
		io.Copy(io.Discard, secure)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go handshake(conn)
		}
	}()
	return l.Addr().String()
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t *testing.T, addr string, until time.Time) tls.Certificate {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.ParseIP(addr)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
}

func serverConfig(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}}
}

// TestErrorsKeepSecrets plants a token in every part of a request and of what a server says, and runs into every kind of failure.
func TestErrorsKeepSecrets(t *testing.T) {
	const secret = "t0ken"
	answers := []string{
		"", "t0ken\r\n\r\n", "HTTP/1.1 t0ken\r\n\r\n", "HTTP/1.1 500 t0ken\r\n\r\n", head200 + "t0ken\r\n\r\n", head200 + "\r\n",
		"HTTP/1.1 302 x\r\nLocation: t0ken:t0ken\r\n\r\n", "HTTP/1.1 302 x\r\nLocation: http://t0ken:t0ken@10.0.0.1/t0ken?t0ken#t0ken\r\n\r\n",
		"HTTP/1.1 302 x\r\nLocation: /%t0ken\r\n\r\n", "HTTP/1.1 302 x\r\nLocation: http://u:t0ken/x@h/\r\n\r\n",
		"HTTP/1.1 302 x\r\nLocation: /t0ken?t0ken\r\n\r\n", "HTTP/1.1 403 t0ken\r\nServer: t0ken cloudflare\r\nContent-Type: t0ken/html\r\n\r\n",
		head200 + "Content-Length: t0ken\r\n\r\n", head200 + "Transfer-Encoding: t0ken\r\n\r\n", ok("Content-Encoding: t0ken\r\n", "\x1f\x8b\x08t0ken"),
	}
	for i, answer := range answers {
		s := newRawServer(t, nil, func(c net.Conn, _ string) { io.WriteString(c, answer) })
		r, err := newClient(t, nil).Get(t.Context(), Request{
			URL:  strings.Replace(s.URL, "//", "//t0ken:t0ken@", 1) + "/t0ken?t0ken#t0ken",
			User: secret, Password: secret, Header: map[string]string{"X-Key": secret}, ETag: secret, UserAgent: secret,
			ValidatorsURL: "http://h/t0ken",
		})
		e := outcome(t, r, err)
		if e == nil {
			t.Fatalf("answer %d is no failure", i)
		}
		if strings.Contains(e.Error(), secret) || !printable(e.Error()) {
			t.Errorf("answer %d: %q", i, e)
		}
		for _, verb := range []string{"%v", "%+v", "%s"} {
			if strings.Contains(fmt.Sprintf(verb, fmt.Errorf("feed 7: %w", e)), secret) {
				t.Errorf("answer %d: %s shows the token", i, verb)
			}
		}
	}
}
