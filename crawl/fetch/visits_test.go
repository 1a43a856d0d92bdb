package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestRedirectsKeepToTheHostsTurns: however many feeds of other hosts redirect to one, it has no more requests at a time than a host
// may have; those of its own feeds do not wait for them.
func TestRedirectsKeepToTheHostsTurns(t *testing.T) {
	const feeds = 12
	var now, most atomic.Int32
	own := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/own" {
			close(own)
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for was := most.Load(); n > was && !most.CompareAndSwap(was, n); was = most.Load() {
		}
		select {
		case <-own: // at the latest when the first two are here
		case <-r.Context().Done():
		}
		io.WriteString(w, "<rss/>")
	}))
	defer target.Close()
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL+"/feed", http.StatusFound)
	}))
	defer away.Close()
	c := newClient(t, nil)
	var all sync.WaitGroup
	for n := range feeds {
		all.Go(func() {
			r, err := c.Get(t.Context(), Request{URL: fmt.Sprint(away.URL, "/", n)})
			if err != nil || string(r.Body) != "<rss/>" {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	for now.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Get(t.Context(), Request{URL: target.URL + "/own"}); err != nil {
		t.Error(err)
	}
	all.Wait()
	if most.Load() != 2 {
		t.Errorf("%d at a time", most.Load())
	}
	if n := len(c.visits.hosts); n != 0 {
		t.Errorf("%d hosts are remembered", n)
	}
}

// TestWaitForATurnEnds with the context, and leaves nothing behind.
func TestWaitForATurnEnds(t *testing.T) {
	v := newVisits(1)
	leave := v.begin("h")
	why := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := v.follow(ctx, "h"); !errors.Is(err, why) {
		t.Error(err)
	}
	leave()
	leave()
	again, err := v.follow(t.Context(), "h")
	if err != nil || v.hosts["h"].now != 1 {
		t.Errorf("%v, %+v", err, v.hosts["h"])
	}
	again()
	if len(v.hosts) != 0 {
		t.Errorf("%d hosts are remembered", len(v.hosts))
	}
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
	if err != nil || r.TruncatedKind == "" || r.Bytes > 64<<10 {
		t.Errorf("%+v %v", r, err)
	}
}
