package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipeClient is a client whose connections are pipes to answer, for tests in a bubble of fake time. dialling, if not nil, is what
// happens before the connection is there.
func pipeClient(t *testing.T, dialling func(context.Context) error, answer func(net.Conn)) *Client {
	c := newClient(t, nil)
	c.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if dialling != nil {
			if err := dialling(ctx); err != nil {
				return nil, err
			}
		}
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if _, err := readHead(bufio.NewReader(theirs)); err == nil {
				answer(theirs)
			}
		}()
		return ours, nil
	}
	return c
}

// every writes s each d, until the client goes away.
func every(d time.Duration, s string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			time.Sleep(d)
			if _, err := io.WriteString(c, s); err != nil {
				return
			}
		}
	}
}

func after(head string, then func(net.Conn)) func(net.Conn) {
	return func(c net.Conn) {
		if _, err := io.WriteString(c, head); err == nil {
			then(c)
		}
	}
}

// TestTimeLimits runs into each limit at its default, in fake time.
func TestTimeLimits(t *testing.T) {
	const length = head200 + "Content-Length: 1000000\r\n\r\n"
	for _, tt := range []struct {
		name     string
		dialling func(context.Context) error
		answer   func(net.Conn)
		took     time.Duration
		kind     Kind // of the error; "" for a body that is cut by time
		got      int  // bytes of it
		says     string
	}{
		{name: "connecting never ends", dialling: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
			took: 60 * time.Second, kind: KindTimeout, says: "no answer within 1m0s"}, // the dialler has its own limit, not part of this test
		{name: "silence", answer: hang, took: 20 * time.Second, kind: KindTimeout, says: "no answer within 20s"},
		{name: "half a header", answer: after(head200+"X-A", hang), took: 20 * time.Second, kind: KindTimeout, says: "no answer within 20s"},
		{name: "a header line a second", answer: after(head200, every(time.Second, "X-A: a\r\n")), took: 20 * time.Second, kind: KindTimeout, says: "no answer within 20s"},
		{name: "a redirect each 15 s", answer: func(c net.Conn) {
			time.Sleep(15 * time.Second)
			io.WriteString(c, "HTTP/1.1 302 x\r\nLocation: /"+time.Now().Format("150405")+"\r\n\r\n")
		}, took: 60 * time.Second, kind: KindTimeout, says: "no answer within 1m0s"},
		{name: "no body", answer: after(length, hang), took: 10 * time.Second, kind: KindTimeout, says: "slower than 10 KiB in 10s"},
		{name: "a body that stops at once", answer: after(length+"<rss>", hang), took: 10 * time.Second, got: 5, says: "slower than 10 KiB in 10s"},
		{name: "a body that stops later", answer: after(length+strings.Repeat("x", 20<<10), hang), took: 20 * time.Second, got: 20 << 10, says: "slower"},
		{name: "900 bytes each 1.1 s", answer: after(length, every(1100*time.Millisecond, strings.Repeat("x", 900))), took: 10 * time.Second, got: 9 * 900, says: "slower"},
		{name: "1,300 bytes each 1.1 s", answer: after(length, every(1100*time.Millisecond, strings.Repeat("x", 1300))), took: 60 * time.Second, got: 54 * 1300, says: "did not end within 1m0s"},
		{name: "a slow start that is made good", answer: func(c net.Conn) {
			time.Sleep(19 * time.Second)
			io.WriteString(c, head200+"Content-Length: 12000\r\n\r\n")
			time.Sleep(9 * time.Second)
			io.WriteString(c, strings.Repeat("x", 12000))
		}, took: 28 * time.Second, got: 12000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeClient(t, tt.dialling, tt.answer)
				began := time.Now()
				r, err := c.Get(t.Context(), Request{URL: "http://a.example/path?secret"})
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if tt.kind != "" {
					if e := asError(t, err); e.Kind != tt.kind || !strings.Contains(e.Error(), tt.says) || e.Local {
						t.Errorf("kind %s, local %v: %v", e.Kind, e.Local, e)
					}
				} else if err != nil {
					t.Error(err)
				} else if len(r.Body) != tt.got || !strings.Contains(r.Truncated, tt.says) || (r.TruncatedKind == KindTimeout) != (tt.says != "") {
					t.Errorf("got %v", r)
				}
				c.Close()
				time.Sleep(time.Minute) // for the server to notice
			})
		})
	}
}

// TestCallerEnds: when the caller's context ends, that is what the error says, and no *Error; wherever the GET is.
func TestCallerEnds(t *testing.T) {
	stop := errors.New("the run is stopped")
	for name, answer := range map[string]func(net.Conn){
		"waiting for the header": hang,
		"in the body":            after(head200+"\r\n<rss>", every(time.Second, strings.Repeat("x", 2000))),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := pipeClient(t, nil, answer)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(5*time.Second, func() { cancel(stop) })
				began := time.Now()
				_, err := c.Get(ctx, Request{URL: "http://a.example/"})
				var e *Error
				if !errors.Is(err, stop) || errors.As(err, &e) || time.Since(began) != 5*time.Second {
					t.Errorf("after %v: %v", time.Since(began), err)
				}
				ctx, end := context.WithTimeout(t.Context(), 3*time.Second)
				defer end()
				if _, err = c.Get(ctx, Request{URL: "http://a.example/"}); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) {
					t.Errorf("the caller's own deadline: %v", err)
				}
				c.Close()
				time.Sleep(time.Minute) // for the server to notice
			})
		})
	}
}

// TestConnectTimeout: the dialler's limit and the handshake's, on a real socket.
func TestConnectTimeout(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") // accepts in the kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := newClient(t, func(o *Options) { o.ConnectTimeout = time.Second })
	_, err = c.Get(t.Context(), Request{URL: "https://" + l.Addr().String()})
	if e := asError(t, err); e.Kind != KindTimeout || !strings.Contains(e.Error(), "no TLS handshake within 1s") {
		t.Errorf("%s: %v", e.Kind, e)
	}
}
