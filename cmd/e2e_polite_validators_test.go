package cmd

import (
	"net/http"
	"testing"
	"time"
)

// What a forced run sends back (rules Q9 and C9): the validators as --force alone has them, none with --refetch, and never a Last-Modified
// that lies far ahead of the answer it came with.
func TestForceKeepsTheValidatorsAndRefetchDropsThem(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	const etag = `"e"`
	hour := func(n int) string { return dated(runAt(n)) }
	body := rss("", 1, 2)
	ahead := b.page(b.host()+"/ahead", func(_ time.Time, r *http.Request) reply { return serving(r, etag, hour(48), body) }).url
	past := b.page(b.host()+"/past", func(_ time.Time, r *http.Request) reply { return serving(r, etag, hour(-48), body) }).url
	w := newWorld(t, nil)
	w.follows(ahead, past)
	b.quietly(w, runAt(0), "run")
	for n, c := range []struct {
		args []string
		want map[string][2]string // If-None-Match and If-Modified-Since
	}{
		{[]string{"run", "--force"}, map[string][2]string{ahead: {etag, ""}, past: {etag, hour(-48)}}},
		{[]string{"run", "--force", "--refetch"}, map[string][2]string{ahead: {}, past: {}}},
		{[]string{"run", "--force"}, map[string][2]string{ahead: {etag, ""}, past: {etag, hour(-48)}}},
	} {
		b.quietly(w, runAt(n+1), c.args...)
		same(t, "requests", []string{ahead, past}, b.asked())
		for _, r := range b.requests() {
			if got := [2]string{r.header.Get("If-None-Match"), r.header.Get("If-Modified-Since")}; r.visit == b.visits && got != c.want[r.url] {
				t.Errorf("%v: %s was asked with %q, not %q", c.args, r.url, got, c.want[r.url])
			}
		}
	}
	w.sound()
}
