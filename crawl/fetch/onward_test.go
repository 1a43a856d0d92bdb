package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hosts is a client whose connections are pipes to what answers at each host.
func hosts(t *testing.T, answers map[string]func(net.Conn)) *Client {
	c := newClient(t, nil)
	c.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			if _, err := readHead(bufio.NewReader(theirs)); err == nil {
				answers[strings.TrimSuffix(address, ".example:80")](theirs)
			}
		}()
		return ours, nil
	}
	return c
}

// TestOnward: where a redirect leads to another host the caller sees to the turn there, and the wait is none of the GET's time: such a
// feed failed for want of an answer that nobody had been asked for.
func TestOnward(t *testing.T) {
	redirect := func(after time.Duration, to string) func(net.Conn) {
		return func(c net.Conn) {
			time.Sleep(after)
			io.WriteString(c, "HTTP/1.1 302 x\r\nSet-Cookie: a=b\r\nLocation: "+to+"\r\n\r\n")
		}
	}
	for name, want := range map[string]struct {
		last func(net.Conn)
		took time.Duration
		kind Kind
	}{
		"it answers": {func(c net.Conn) { time.Sleep(15 * time.Second); io.WriteString(c, ok("", "<rss/>")) }, 50 * time.Second, ""},
		"it drips":   {after(head200+"\r\n<rss>", every(time.Second, strings.Repeat("x", 2000))), 60 * time.Second, ""},
		"it is dead": {hang, 55 * time.Second, KindTimeout},
		"it resets":  {func(net.Conn) {}, 35 * time.Second, KindConnect},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := hosts(t, map[string]func(net.Conn){
					"a": redirect(18*time.Second, "http://b.example/"), "b": redirect(17*time.Second, "http://c.example/"), "c": want.last,
				})
				var used time.Duration
				leg := func(get func() (*Response, error)) (*Response, error) {
					defer func(began time.Time) { used += time.Since(began) }(time.Now())
					return get()
				}
				sent := 0
				before := func() error { sent++; return nil }
				r, err := leg(func() (*Response, error) {
					return c.Get(t.Context(), Request{URL: "http://a.example/", Turns: true, Before: before})
				})
				for _, host := range []string{"b.example", "c.example"} {
					var on *Onward
					if !errors.As(err, &on) || on.Host != host || on.AllowedNet {
						t.Fatalf("%v %v, not on to %s", r, err, host)
					}
					time.Sleep(20 * time.Minute)
					r, err = leg(func() (*Response, error) { return on.Get(t.Context(), before) })
				}
				if used != want.took || sent != 3 {
					t.Errorf("took %v and %d requests", used, sent)
				}
				if want.kind == "" {
					if err != nil || r.Elapsed != used || r.Requests != 3 || len(r.Hops) != 2 || r.URL != "http://c.example/" {
						t.Errorf("%v, %v, took %v", r, err, used)
					}
				} else if e := asError(t, err); e.Kind != want.kind || e.Answered || e.Requests != 3 {
					t.Errorf("%s, answered %v, %d requests: %v", e.Kind, e.Answered, e.Requests, e) // the answers are 20 minutes old
				}
				c.Close()
				time.Sleep(time.Minute) // for the server to notice
			})
		})
	}
}

// TestOnwardToItself: within a host a redirect is followed at once, to https too; and everywhere by who sees to no turns.
func TestOnwardToItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		feed := func(c net.Conn) { io.WriteString(c, ok("", "<rss/>")) }
		c := hosts(t, map[string]func(net.Conn){"a": func(c net.Conn) {
			if n++; n == 1 {
				io.WriteString(c, "HTTP/1.1 302 x\r\nLocation: http://A.example:80/next\r\n\r\n")
				return
			}
			feed(c)
		}, "b": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 302 x\r\nLocation: http://a.example/\r\n\r\n") }})
		for _, r := range []Request{{URL: "http://a.example/", Turns: true}, {URL: "http://b.example/"}} {
			if r, err := c.Get(t.Context(), r); err != nil || r.Requests != 2 {
				t.Errorf("%v %v", r, err)
			}
		}
	})
}

// TestManyCookies: a server may set as many as it likes; a browser's number of them comes back.
func TestManyCookies(t *testing.T) {
	var requests seen
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.add(r)
		n := len(requests.all())
		if n > maxHops {
			return
		}
		w.Header().Add("Set-Cookie", "long="+strings.Repeat("x", maxCookie))
		for i := range 2990 {
			w.Header().Add("Set-Cookie", fmt.Sprintf("name%d_%d=%s; Path=/", n, i, strings.Repeat("v", 40)))
		}
		http.Redirect(w, r, fmt.Sprint("/", n), http.StatusFound)
	}))
	defer s.Close()
	c := newClient(t, nil)
	if _, err := c.Get(t.Context(), Request{URL: s.URL}); err != nil {
		t.Fatal(err)
	}
	for i, r := range requests.all() {
		got := r.Cookies()
		if i > 0 && len(got) != maxCookies || len(got) > 0 && got[0].Name != "name1_0" {
			t.Errorf("request %d has %d cookies, the first %v", i, len(got), got[:min(len(got), 1)])
		}
	}
}

// TestAnswerWithoutEnd: what a server sends over TLS beside the body is bounded as well.
func TestAnswerWithoutEnd(t *testing.T) {
	s, c := newTLSServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		for r.Context().Err() == nil { // frames of one byte: 9 more in HTTP/2, 22 in TLS
			w.Write([]byte(" "))
			w.(http.Flusher).Flush()
		}
	})
	c.o.MaxBody = 64 << 10
	r, err := c.Get(t.Context(), Request{URL: s.URL})
	if err != nil || r.TruncatedKind != KindTooLarge || r.Bytes > 64<<10 {
		t.Errorf("%v %v", r, err)
	}
}

// TestChunksWithoutEndOverTLS: the sizes of chunks count as well where a connection is bounded, so that it ended before the body reached its
// limit, and the body was said to have broken off.
func TestChunksWithoutEndOverTLS(t *testing.T) {
	for _, chunk := range []string{"1\r\n<\r\n", "4\r\n<i/>\r\n", "100\r\n" + strings.Repeat("<i/>", 64) + "\r\n"} {
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // without HTTP/2
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(conn, head200+"Transfer-Encoding: chunked\r\n\r\n")
			endless(chunk)(conn)
		}))
		defer s.Close()
		c := newClient(t, func(o *Options) { o.MaxBody = 1 << 20 })
		r, err := c.Get(t.Context(), Request{URL: s.URL, Insecure: true})
		if err != nil || r.TruncatedKind != KindTooLarge || len(r.Body) == 0 || r.Bytes > 1<<20+1 {
			t.Errorf("chunks of %.3q: %v %v", chunk, r, err)
		}
		r.Release()
	}
}
