package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// framed is a server of HTTP/2 that treats each connection, and each request on it, as a test says.
type framed struct {
	begin   func(*http2.Framer)                  // what it says first; nil for no more than its settings
	request func(f *http2.Framer, stream uint32) // what it says to a request

	connections, requests atomic.Int32
}

func (s *framed) serve(c net.Conn) {
	defer c.Close()
	s.connections.Add(1)
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.WriteSettings()
	if s.begin != nil {
		s.begin(f)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if h, ok := frame.(*http2.HeadersFrame); ok {
			s.requests.Add(1)
			s.request(f, h.StreamID)
		}
	}
}

// start runs the server and returns its URL and a client that trusts it.
func (s *framed) start(t *testing.T) (url string, c *Client) {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	t.Cleanup(certified.Close)
	l, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	c = newClient(t, func(o *Options) { o.Timeout = time.Minute })
	c.tlsConfig = func(config *tls.Config) {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(certified.Certificate())
	}
	return "https://" + l.Addr().String(), c
}

// TestRefusedStream: in whatever way a server of HTTP/2 refuses a request, it is sent once (rule Q1). net/http thinks that it may
// send it again, on a new connection each time, without pause or end.
func TestRefusedStream(t *testing.T) {
	reset := func(code http2.ErrCode) func(*http2.Framer, uint32) {
		return func(f *http2.Framer, stream uint32) { f.WriteRSTStream(stream, code) }
	}
	goAway := func(code http2.ErrCode) func(*http2.Framer, uint32) {
		return func(f *http2.Framer, _ uint32) { f.WriteGoAway(0, code, nil) }
	}
	for name, refuse := range map[string]func(*http2.Framer, uint32){
		"REFUSED_STREAM":            reset(http2.ErrCodeRefusedStream),
		"PROTOCOL_ERROR":            reset(http2.ErrCodeProtocol),
		"INTERNAL_ERROR":            reset(http2.ErrCodeInternal),
		"GOAWAY":                    goAway(http2.ErrCodeNo),
		"GOAWAY, ENHANCE_YOUR_CALM": goAway(http2.ErrCodeEnhanceYourCalm),
	} {
		t.Run(name, func(t *testing.T) {
			s := &framed{request: refuse}
			url, c := s.start(t)
			_, err := c.Get(t.Context(), Request{URL: url})
			if e := asError(t, err); e.Kind != KindConnect || e.Answered || e.Local || e.Requests != 1 {
				t.Errorf("%s: %v (%v), %d requests", e.Kind, e, e.Err, e.Requests)
			}
			if n := s.requests.Load(); n != 1 {
				t.Errorf("%d requests came on %d connections", n, s.connections.Load())
			}
		})
	}
}

// TestRefusedConnection: a server that ends each connection as soon as it is there is not dialled for as long as a GET may take.
func TestRefusedConnection(t *testing.T) {
	s := &framed{
		begin:   func(f *http2.Framer) { f.WriteGoAway(0, http2.ErrCodeNo, nil) },
		request: func(f *http2.Framer, stream uint32) { f.WriteRSTStream(stream, http2.ErrCodeRefusedStream) },
	}
	url, c := s.start(t)
	_, err := c.Get(t.Context(), Request{URL: url})
	if e := asError(t, err); e.Kind != KindConnect || !strings.Contains(e.Error(), "refused") && !strings.Contains(e.Error(), "without an answer") {
		t.Errorf("%s: %v (%v)", e.Kind, e, e.Err)
	}
	if n := s.connections.Load(); n > maxConnections || s.requests.Load() > 1 {
		t.Errorf("%d connections, %d requests", n, s.requests.Load())
	}
}
