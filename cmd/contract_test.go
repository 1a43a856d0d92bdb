package cmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// crawler runs commands on one directory, with serveScript as the web.
type crawler struct {
	t   testing.TB
	url string
	env []string
}

func newCrawler(t testing.TB) *crawler {
	server := httptest.NewServer(http.HandlerFunc(serveScript))
	t.Cleanup(server.Close)
	return &crawler{t, server.URL, []string{"CRAWL_DIR=" + t.TempDir(), "CRAWL_ALLOW_NET=127.0.0.0/8"}}
}

// ok runs a command that must succeed, and returns what it printed.
func (c *crawler) ok(args ...string) string {
	c.t.Helper()
	r := command(c.t, c.env, args...).run(c.t)
	if r.code != 0 || r.stderr != "" {
		c.t.Fatalf("crawl %s: code %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// keysOf are the keys of a JSON object, and of the objects in it as "key.key"; of an array its first element's.
func keysOf(t testing.TB, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var keys []string
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		switch v := v.(type) {
		case []any:
			if len(v) > 0 {
				walk(prefix, v[0])
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				keys = append(keys, prefix+key)
				walk(prefix+key+".", v[key])
			}
		}
	}
	walk("", value)
	return strings.Join(keys, " ")
}

// The keys of the JSON that the program prints are a contract: none may go or change its name.
func TestJSONContract(t *testing.T) {
	c := newCrawler(t)
	const ran = "bytes categories categories.done categories.left categories.skipped " +
		"feeds feeds.changed feeds.deferred feeds.failed feeds.fetched feeds.left feeds.stopped feeds.throttled feeds.unchanged " +
		"hour items items.new items.updated kind outcome requests run seconds"
	const item = "author categories changed_at columns content enclosures feed_id feed_title feed_url first_seen_at guid id key kind " +
		"published_at seq summary title updated_at url"
	c.ok("add", "--no-fetch", c.url+"/news.rss", "--category", "News")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--json"}, ran},
		{[]string{"half-check", "--json"}, ran},
		{[]string{"items", "--json"}, item},
		{[]string{"items", "--jsonl", "--limit", "1"}, item},
		{[]string{"items", "--after", "0", "--jsonl", "--limit", "1"}, item},
		{[]string{"list", "--json"}, "category consecutive_failures id items last_error last_error_kind last_fetched_at last_success_at " +
			"next_fetch_at status stopped_reason title url"},
		{[]string{"status", "--json"}, "categories categories.active categories.done categories.failing categories.feeds categories.id " +
			"categories.name categories.ranked categories.stopped complete epoch failed_steps feeds feeds.active feeds.failing feeds.stopped feeds.throttled " +
			"flag hour kill running runs runs.bytes runs.failed runs.fetched runs.finished_at runs.host runs.hour runs.kind runs.left " +
			"runs.new runs.outcome runs.reason runs.requests runs.run runs.started_at runs.stopped runs.throttled runs.updated"},
		{[]string{"category", "list", "--json"}, "active failing feeds id name ranked stopped"},
		{[]string{"config", "--json"}, "from name value"},
		{[]string{"version", "--json"}, "go revision version"},
		{[]string{"check", c.url + "/news.rss", "--json"}, "bytes count error etag items items.author items.categories items.content " +
			"items.enclosures items.guid items.key items.published_at items.summary items.title items.updated_at items.url " +
			"last_modified next_seconds parsed_whole redirects site_url status title type url warnings"},
		{[]string{"run", "--dry-run", "--json"}, "category fetch id reason url"},
		{[]string{"add", c.url + "/blog.atom", "--json"}, "already asked candidates category error found id items status title url"},
		{[]string{"kill", "--json"}, "holder outcome seconds"},
	} {
		if got := keysOf(t, c.ok(test.args...)); got != test.want {
			t.Errorf("%s has the keys\n%s\nwant\n%s", strings.Join(test.args, " "), got, test.want)
		}
	}
	c.ok("remove", "1", "--yes")
	if got, want := keysOf(t, lastLine(c.ok("items", "--after", "0", "--jsonl"))), "feed_id id kind seq"; got != want {
		t.Errorf("a removed change has the keys %s, want %s", got, want)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Every command speaks of unknown things as null, never as "" and never as a zero time.
func TestNullForUnknown(t *testing.T) {
	c := newCrawler(t)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	c.ok("status", "--json")
	for _, args := range [][]string{{"list", "--json"}, {"status", "--json"}} {
		out := c.ok(args...)
		if strings.Contains(out, `: ""`) || strings.Contains(out, "0001-01-01") {
			t.Errorf("%s:\n%s", strings.Join(args, " "), out)
		}
	}
	for _, key := range []string{"title", "last_error", "last_error_kind", "stopped_reason", "last_fetched_at", "last_success_at", "next_fetch_at"} {
		if out := c.ok("list", "--json"); !strings.Contains(out, fmt.Sprintf("%q: null", key)) {
			t.Errorf("%s is not null:\n%s", key, out)
		}
	}
}
