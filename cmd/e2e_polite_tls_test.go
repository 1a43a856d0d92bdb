package cmd

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A visit an hour later resumes the TLS session of the last. Whatever happens to the file that keeps it costs a whole handshake and no
// word.
func TestTLSSessionsOutliveARun(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	host, trust := b.secureHost(t)
	resumed := false
	url := b.page("https://"+host+"/feed", func(_ time.Time, r *http.Request) reply {
		resumed = r.TLS.DidResume
		return serving(r, `"e"`, "", rss("", 1, 2))
	}).url
	w := newWorld(t, nil, "SSL_CERT_FILE="+trust)
	w.follows(url)
	file := filepath.Join(w.dir, "tls-sessions")
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, c := range []struct {
		before  string
		do      func()
		resumes bool
	}{
		{"nothing", func() {}, false},
		{"an hour", func() {}, true},
		{"another", func() {}, true},
		{"the file was cut", func() { step(os.Truncate(file, 100)) }, false},
		{"an hour", func() {}, true},
		{"the file was emptied", func() { step(os.Truncate(file, 0)) }, false},
		{"a directory came in its place", func() { step(os.Remove(file)); step(os.Mkdir(file, 0o700)) }, false},
		{"the directory stays", func() {}, false},
		{"the directory went", func() { step(os.Remove(file)) }, false},
		{"an hour", func() {}, true},
	} {
		c.do()
		b.quietly(w, runAt(12*n), "run")
		if got := b.asked(); len(got) != 1 || resumed != c.resumes {
			t.Errorf("run %d, before which %s: resumed %v, requests %q", n, c.before, resumed, got)
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("run %d: %s can be read by others: %s", n, file, info.Mode())
		}
	}
	w.sound()
}
