package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A page that names no feed costs its host the guesses of all common paths, unless the first shows that it will not do.
func TestAddSparesAHostFurtherGuesses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer func(http.ResponseWriter)
		few    bool
	}{
		{"not found", func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusNotFound) }, false},
		{"too many", func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusTooManyRequests) }, true},
		{"out of service", func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusServiceUnavailable) }, true},
		{"a wish for quiet", func(rw http.ResponseWriter) {
			rw.Header().Set("Retry-After", "60")
			rw.WriteHeader(http.StatusForbidden)
		}, true},
		{"no answer", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true},
	} {
		s := newSite(t)
		w := newWorld(t, s)
		base, requests := counted(t, func(rw http.ResponseWriter, path string) {
			if path != "/page" {
				test.answer(rw)
				return
			}
			io.WriteString(rw, "<!DOCTYPE html><title>No feed</title>")
		})
		if e := w.run(runAt(0), "add", base+"/page").want(1); !strings.Contains(e.stderr, "no feed found") {
			t.Errorf("%s: %s", test.name, e)
		}
		if n := requests(); n < 2 || (n <= 3) != test.few { // what was cut off is asked once again, by another connection
			t.Errorf("%s: %d requests", test.name, n)
		}
	}
}

// A feed that is there already, stopped perhaps, is not asked again, however add comes to it.
func TestAddAsksNoFeedThatIsThere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newWorld(t, s)
	for _, page := range []string{
		`<meta http-equiv="refresh" content="0; url=/feed">`, "", `<link rel="alternate" type="application/rss+xml" href="/feed">`,
	} {
		base, requests := counted(t, func(rw http.ResponseWriter, path string) {
			if path == "/feed" {
				t.Errorf("%q: the feed is asked", page)
			}
			io.WriteString(rw, "<!DOCTYPE html>"+page)
		})
		w.run(runAt(0), "add", "--no-fetch", base+"/feed").want(0)
		if e := w.run(runAt(0), "add", base).want(0); !strings.HasPrefix(e.stdout, "already there: ") {
			t.Errorf("%q: %s", page, e)
		}
		if n := requests(); n != 1 {
			t.Errorf("%q: %d requests", page, n)
		}
	}
}

// counted serves on a port of its own, and counts the requests.
func counted(t *testing.T, answer func(rw http.ResponseWriter, path string)) (base string, requests func() int) {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n.Add(1)
		answer(rw, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { return int(n.Load()) }
}
