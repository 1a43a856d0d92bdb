package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// What belongs to this package or to the connection is nobody's own header: another Accept-Encoding, say, gives bytes that nothing decodes.
func TestReservedHeaders(t *testing.T) {
	for _, name := range []string{"accept-encoding", "Accept", "Connection", "Transfer-Encoding", "Range", "TE", "Upgrade", "Host"} {
		if CheckHeader(name, "x") == nil {
			t.Errorf("%s can be set", name)
		}
	}
	for _, name := range []string{"Authorization", "Cookie", "Accept-Language", "X-Key"} {
		if err := CheckHeader(name, "x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRequestHead compares the whole head of a request, byte for byte: nothing may be in it that is not listed (rules Q1–Q5).
func TestRequestHead(t *testing.T) {
	s := newRawServer(t, nil, func(c net.Conn, _ string) { c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<rss/>")) })
	host := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct {
		name    string
		request Request
		line    string
		more    string // header lines, in the order of net/http
	}{
		{"plain", Request{URL: s.URL + "/feed"}, "/feed", ""},
		{"no path", Request{URL: s.URL}, "/", ""},
		{"query as it is", Request{URL: s.URL + "/f?b=2&a=1&&x=%41+y#part"}, "/f?b=2&a=1&&x=%41+y", ""},
		{"escapes as they are", Request{URL: s.URL + "/%7euser/a%2fb/%C3%A9?"}, "/%7euser/a%2fb/%C3%A9?", ""},
		{"spaces and letters", Request{URL: s.URL + "/a b/é?q=a b&r=é"}, "/a%20b/%C3%A9?q=a%20b&r=%C3%A9", ""},
		{"both validators", Request{URL: s.URL + "/f", ETag: `W/"a-gzip"`, LastModified: "Sun, 1 mar 2026 1:2:3"}, "/f",
			"If-Modified-Since: Sun, 1 mar 2026 1:2:3\r\nIf-None-Match: W/\"a-gzip\"\r\n"},
		{"unquoted tag", Request{URL: s.URL + "/f", ETag: `abc`}, "/f", "If-None-Match: abc\r\n"},
		{"empty tag", Request{URL: s.URL + "/f", ETag: `""`}, "/f", ""},
		{"empty weak tag", Request{URL: s.URL + "/f", ETag: `W/""`}, "/f", ""},
		{"tag with a line break", Request{URL: s.URL + "/f", ETag: "\"a\"\r\nX-Evil: 1"}, "/f", ""},
		{"date after 2038", Request{URL: s.URL + "/f", LastModified: "Fri, 31 Dec 9999 23:59:59 GMT"}, "/f", ""},
		{"validators of another URL", Request{URL: s.URL + "/f", ETag: `"a"`, ValidatorsURL: s.URL + "/g"}, "/f", ""},
		{"validators of this URL", Request{URL: s.URL + "/f", ETag: `"a"`, ValidatorsURL: s.URL + "/f#x"}, "/f", "If-None-Match: \"a\"\r\n"},
		{"validators of no URL", Request{URL: s.URL + "/f", ETag: `"a"`, ValidatorsURL: "::"}, "/f", ""},
		{"user and password", Request{URL: s.URL + "/f", User: "me", Password: "pa:ss"}, "/f",
			"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:pa:ss")) + "\r\n"},
		{"user in the URL is not sent", Request{URL: strings.Replace(s.URL, "http://", "http://u:p@", 1) + "/f"}, "/f", ""},
		{"own header", Request{URL: s.URL + "/f", Header: map[string]string{"x-token": "a"}}, "/f", "X-Token: a\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.requests())
			r, err := newClient(t, nil).Get(t.Context(), tt.request)
			if err != nil {
				t.Fatal(err)
			}
			conditional := tt.more != "" && strings.HasPrefix(tt.more, "If-")
			if r.Conditional != conditional {
				t.Errorf("Conditional %v", r.Conditional)
			}
			heads := s.requests()[before:]
			if len(heads) != 1 || r.Requests != 1 {
				t.Fatalf("%d requests were sent, Requests is %d", len(heads), r.Requests)
			}
			lines := []string{"Accept: " + accept, "Accept-Encoding: gzip, br, zstd", "Connection: close"}
			if tt.more != "" {
				lines = append(lines, strings.Split(strings.TrimSuffix(tt.more, "\r\n"), "\r\n")...)
			}
			slices.Sort(lines)
			got := strings.Split(strings.TrimSuffix(heads[0], "\r\n\r\n"), "\r\n")
			want := append([]string{"GET " + tt.line + " HTTP/1.1", "Host: " + host, "User-Agent: " + agent}, lines...)
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("request\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestUserAgentOfOneFeed(t *testing.T) {
	s := newRawServer(t, nil, func(c net.Conn, _ string) { c.Write([]byte("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")) })
	c := newClient(t, nil)
	for _, ua := range []string{"other/1", ""} {
		if _, err := c.Get(t.Context(), Request{URL: s.URL, UserAgent: ua}); err != nil {
			t.Fatal(err)
		}
	}
	heads := s.requests()
	if !strings.Contains(heads[0], "User-Agent: other/1\r\n") || !strings.Contains(heads[1], "User-Agent: "+agent+"\r\n") {
		t.Errorf("user agents in %q", heads)
	}
}

func TestRequestThatCannotBeSent(t *testing.T) {
	c := newClient(t, nil)
	for _, r := range []Request{
		{Header: map[string]string{"Bad Name": "x"}},
		{Header: map[string]string{"X-Token": "secret\r\nX-Evil: 1"}},
		{Header: map[string]string{"if-none-match": "secret"}},
		{Header: map[string]string{"HOST": "secret"}},
		{UserAgent: "secret\n"},
		{Proxy: "ftp://u:secret@proxy.example"},
		{Proxy: "http://[::secret"},
	} {
		r.URL = "http://127.0.0.1:1/"
		r.Before = func() error { t.Error("something was sent"); return nil }
		_, err := c.Get(t.Context(), r)
		if e := asError(t, err); strings.Contains(e.Error(), "secret") {
			t.Errorf("the value is in the error: %v", e)
		}
	}
}

func TestAnswer(t *testing.T) {
	const date = "Sun, 01 Mar 2026 12:00:00 GMT"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), http.Header{
			"Date": {date}, "Etag": {`W/"x-gzip"`}, "Last-Modified": {"odd date"}, "Content-Type": {"Text/XML; charset=x"},
			"Cache-Control": {"max-age=60"}, "Retry-After": {"120"},
		})
		w.Write([]byte("<rss/>"))
	}))
	defer s.Close()
	r, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL + "/f#x"})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case r.Status != 200 || r.URL != s.URL+"/f" || len(r.Hops) != 0 || r.PermanentURL != "" || string(r.Body) != "<rss/>",
		r.ETag != `W/"x-gzip"` || r.LastModified != "odd date" || r.ContentType != "Text/XML; charset=x",
		r.Fresh != time.Minute,
		r.RetryAfter != 0, // a 200 does not throttle
		r.Requests != 1 || r.Bytes != 6 || r.Elapsed <= 0 || !r.AllowedNet || r.BotCheck || r.Truncated != "" || r.Failure() != nil:
		t.Errorf("%+v", r)
	}
	r.Release()
	r.Release()
	if r.Body != nil {
		t.Error("the body is there after Release")
	}
	(*Response)(nil).Release()
}

// TestClockWithoutDate: where the server's Date cannot be read, ours counts (rule T9).
func TestClockWithoutDate(t *testing.T) {
	s := newRawServer(t, nil, func(c net.Conn, _ string) {
		c.Write([]byte("HTTP/1.1 503 x\r\nDate: now\r\nRetry-After: Sun, 01 Mar 2026 15:00:00 GMT\r\nExpires: Sun, 01 Mar 2026 14:00:00 GMT\r\n\r\n"))
	})
	c := newClient(t, func(o *Options) {
		o.Now = func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	})
	r, err := c.Get(t.Context(), Request{URL: s.URL})
	if err != nil || r.RetryAfter != 3*time.Hour || r.Fresh != 2*time.Hour {
		t.Errorf("%+v %v", r, err)
	}
}

func TestBefore(t *testing.T) {
	lost := errors.New("the lease is lost")
	for _, tt := range []struct{ fails, sent int }{{1, 0}, {2, 1}, {3, 2}} {
		for range 10 { // it would be a race
			s := newRawServer(t, nil, func(c net.Conn, head string) {
				if strings.HasPrefix(head, "GET /2") {
					c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<rss/>"))
					return
				}
				c.Write([]byte("HTTP/1.1 302 Found\r\nLocation: /2\r\n\r\n"))
			})
			calls := 0
			r, err := newClient(t, nil).Get(t.Context(), Request{URL: s.URL + "/1", Before: func() error {
				if calls++; calls == tt.fails {
					return lost
				}
				return nil
			}})
			if got := errors.Is(err, lost); got != (tt.fails < 3) {
				t.Errorf("fails at %d: error %v", tt.fails, err)
			}
			var e *Error
			if errors.As(err, &e) {
				t.Errorf("a lost lease is an *Error: %v", e)
			}
			s.close()
			if sent := len(s.requests()); sent != tt.sent || r != nil && r.Requests != tt.sent {
				t.Errorf("fails at %d: %d requests were sent, want %d", tt.fails, sent, tt.sent)
			}
		}
	}
}

// TestBeforeIsLate: the lease is looked at after the connection is made, which may take long, not before.
func TestBeforeIsLate(t *testing.T) {
	c := newClient(t, nil)
	var connected atomic.Bool
	c.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		defer connected.Store(true)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	s := newRawServer(t, nil, func(c net.Conn, _ string) { c.Write([]byte("HTTP/1.1 204 x\r\n\r\n")) })
	_, err := c.Get(t.Context(), Request{URL: s.URL, Before: func() error {
		if !connected.Load() {
			t.Error("Before was called before the connection was there")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// newTLSServer starts a server of HTTP/2 over TLS and a client that trusts it.
func newTLSServer(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *Client) {
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	c := newClient(t, nil)
	c.tlsConfig = func(config *tls.Config) {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(s.Certificate())
	}
	return s, c
}

func TestHTTP2(t *testing.T) {
	var requests seen
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		w.Write([]byte("<rss/>"))
	})
	for range 2 {
		r, err := c.Get(t.Context(), Request{URL: s.URL + "/old"})
		if err != nil || string(r.Body) != "<rss/>" || r.Requests != 2 || !r.AllowedNet {
			t.Fatalf("%+v %v", r, err)
		}
	}
	for i, r := range requests.all() {
		if r.ProtoMajor != 2 {
			t.Errorf("request %d came as %s", i, r.Proto)
		}
		if i > 0 && !r.TLS.DidResume {
			t.Errorf("request %d did not resume the TLS session", i)
		}
		for _, name := range []string{"Referer", "Cookie", "Authorization", "If-None-Match"} {
			if r.Header.Get(name) != "" {
				t.Errorf("request %d has %s", i, name)
			}
		}
	}
}

// TestHTTP2Bodies: a body larger than the windows of flow control, one that is reset half-way, and one over the limit.
func TestHTTP2Bodies(t *testing.T) {
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(bytes.Repeat([]byte("<i/>"), 1<<20))
		switch r.URL.Path {
		case "/reset":
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/long":
			for r.Context().Err() == nil {
				w.Write(make([]byte, 1<<20))
			}
		}
	})
	for path, want := range map[string]struct {
		cut  Kind
		size int
	}{"/": {"", 4 << 20}, "/reset": {KindTruncated, 1}, "/long": {KindTooLarge, 16 << 20}} {
		r, err := c.Get(t.Context(), Request{URL: s.URL + path})
		if err != nil || r.TruncatedKind != want.cut || len(r.Body) < want.size {
			t.Errorf("%s: %v %v", path, r, err)
		}
		r.Release()
	}
}

// TestHTTP2WithoutAnswer: a stream that is reset before its header is a closed connection to us, not bad HTTP.
func TestHTTP2WithoutAnswer(t *testing.T) {
	s, c := newTLSServer(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := c.Get(t.Context(), Request{URL: s.URL})
	if e := asError(t, err); e.Kind != KindConnect || e.Answered || !strings.Contains(e.Error(), "without an answer") {
		t.Errorf("%s: %v (%v)", e.Kind, e, e.Err)
	}
}

func TestBeforeHTTP2(t *testing.T) {
	var requests seen
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { requests.add(r) })
	lost := errors.New("the lease is lost")
	for range 20 {
		if _, err := c.Get(t.Context(), Request{URL: s.URL, Before: func() error { return lost }}); !errors.Is(err, lost) {
			t.Fatal(err)
		}
	}
	if n := len(requests.all()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestInsecureIsForOneRequest(t *testing.T) {
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("<rss/>")) })
	c.tlsConfig = nil // the server's authority is unknown
	for i, insecure := range []bool{false, true, false} {
		r, err := c.Get(t.Context(), Request{URL: s.URL, Insecure: insecure})
		if insecure != (err == nil) {
			t.Fatalf("request %d: %v", i, err)
		}
		if err != nil && asError(t, err).Kind != KindTLS {
			t.Errorf("request %d: kind %s", i, asError(t, err).Kind)
		}
		r.Release()
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"no user agent":       {},
		"line in user agent":  {UserAgent: "a\nb"},
		"negative time":       {UserAgent: agent, Timeout: -1},
		"negative body":       {UserAgent: agent, MaxBody: -1},
		"enormous body":       {UserAgent: agent, MaxBody: 1 << 40},
		"proxy of odd scheme": {UserAgent: agent, Proxy: mustParse("ftp://proxy.example")},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
