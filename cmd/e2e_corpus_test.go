package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The corpus holds feeds that other people wrote, with what crawling each must give, a server and a comparer. It is no part of this
// repository: CRAWL_CORPUS names its folder.

// disputed are the expectations that are wrong by the feed's own format, with what is right of some items, first to last.
var disputed = map[string]struct {
	column string
	right  []string
}{
	// A relative enclosure resolves like every other link (RFC 3986, 5.1); the expectation leaves it relative.
	"rome-jira_issue1.xml": {"enclosures ->> '$[0].url'", []string{
		"{ORIGIN}/given/rss_2.0.channel.item%5B0%5D.enclousure%5B0%5D%5Eurl", "{ORIGIN}/given/rss_2.0.channel.item%5B1%5D.enclousure%5B0%5D%5Eurl",
	}},
	// The dates are in Portuguese (Seg, 24 Set 2018 19:42:40 -0300) and can be read; the expectation has none.
	"rssparser-uolNoticias.xml": {"published_at", []string{"2018-09-24T22:42:40Z", "2018-09-24T22:38:00Z", "2018-09-24T22:35:07Z"}},
}

// corpusServer starts the corpus's own server and returns its origin.
func corpusServer(t *testing.T, python, root string) string {
	t.Helper()
	c := exec.Command(python, filepath.Join(root, "serve"), "--port", "0", "--sets", "given")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	origin := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || origin == "" {
		t.Fatalf("the corpus's server says %q, %v", line, err)
	}
	return origin
}

// corpusLines reads one of the corpus's lists.
func corpusLines[T any](t *testing.T, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []T
	for d := json.NewDecoder(f); d.More(); {
		var x T
		if err := d.Decode(&x); err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// exportCorpus writes what is stored as the comparer reads it.
func (w *world) exportCorpus(at int) (rows, feeds string) {
	w.t.Helper()
	dir := w.t.TempDir()
	rows, feeds = filepath.Join(dir, "rows.jsonl"), filepath.Join(dir, "feeds.jsonl")
	var text strings.Builder
	encode := func(x any) {
		line, err := json.Marshal(x)
		if err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n", line)
	}
	// Oldest first, which is the order of a document: where two rows are as like an expected item, the comparer takes the first.
	lines := strings.Split(strings.TrimSpace(w.run(runAt(at), "items", "--jsonl").want(0).stdout), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		var i exportedItem
		if err := json.Unmarshal([]byte(line), &i); err != nil {
			w.t.Fatal(err)
		}
		encode(map[string]any{
			"feed_url": i.FeedURL, "guid": i.GUID, "title": i.Title, "link": i.URL, "published": i.PublishedAt, "updated": i.UpdatedAt,
			"author": i.Author, "enclosures": i.Enclosures,
		})
	}
	if err := os.WriteFile(rows, []byte(text.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	text.Reset()
	var list []listedFeed
	if err := json.Unmarshal([]byte(w.run(runAt(at), "list", "--json").want(0).stdout), &list); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range list {
		encode(map[string]any{"feed_url": f.URL, "ok": f.LastError == nil && f.LastSuccessAt != nil, "error": f.LastError})
	}
	if err := os.WriteFile(feeds, []byte(text.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return rows, feeds
}

// TestCorpus crawls the whole corpus over HTTP, exports it, and has it compared; then crawls the versioned feeds a second time.
func TestCorpus(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CRAWL_CORPUS")
	if root == "" {
		root = "../../shared/corpus"
	}
	given := filepath.Join(root, "given")
	if _, err := os.Stat(filepath.Join(given, "expectations.jsonl")); err != nil {
		t.Skipf("skipped: no corpus at %s; CRAWL_CORPUS names its folder", root)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: the corpus's server and comparer need python3")
	}
	origin := corpusServer(t, python, root)
	var urls []string
	for _, c := range corpusLines[struct{ File string }](t, filepath.Join(given, "expectations.jsonl")) {
		urls = append(urls, origin+"/given/"+c.File)
	}
	cases := len(urls)
	sequences := corpusLines[struct{ Name string }](t, filepath.Join(given, "sequences.jsonl"))
	for _, s := range sequences {
		urls = append(urls, origin+"/given/seq/"+s.Name)
	}
	w := newWorld(t, nil, "CRAWL_PER_HOST=8")
	w.follows(urls...)

	w.silent(runAt(0), "run")
	w.compareCorpus(python, root, origin, 1, cases+len(sequences))

	second, err := http.NewRequest(http.MethodPut, origin+"/-/phase/2", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(second)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("phase 2: %v, %v", answer, err)
	}
	answer.Body.Close()
	before := w.query("SELECT i.* FROM items i JOIN feeds f ON f.id = i.feed_id WHERE f.url NOT LIKE '%/given/seq/%'")
	w.silent(runAt(3), "run", "--force")
	same(t, "rows of the feeds that are as they were", before,
		w.query("SELECT i.* FROM items i JOIN feeds f ON f.id = i.feed_id WHERE f.url NOT LIKE '%/given/seq/%'"))
	w.compareCorpus(python, root, origin, 2, cases+len(sequences))
	w.sound()
}

// compareCorpus runs the comparer; each case must pass that is not disputed. It prints the counts of each kind.
func (w *world) compareCorpus(python, root, origin string, phase, cases int) {
	w.t.Helper()
	rows, feeds := w.exportCorpus(3 * phase)
	verdicts := filepath.Join(w.t.TempDir(), "verdicts.json")
	out, _ := exec.Command(python, filepath.Join(root, "compare.py"), "--expect", filepath.Join(root, "given", "expectations.jsonl"),
		"--rows", rows, "--feeds", feeds, "--set", "given", "--origin", origin, "--sequences", filepath.Join(root, "given", "sequences.jsonl"),
		"--phase", fmt.Sprint(phase), "--json", verdicts).CombinedOutput() // it exits with 1 when a case fails
	text, err := os.ReadFile(verdicts)
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	var list []struct {
		File, Kind string
		Pass       bool
		Bad        json.RawMessage
	}
	if err := json.Unmarshal(text, &list); err != nil {
		w.t.Fatal(err)
	}
	if len(list) != cases {
		w.t.Errorf("%d cases were compared, not %d", len(list), cases)
	}
	passed, total := map[string]int{}, map[string]int{}
	for _, c := range list {
		total[c.Kind]++
		switch {
		case c.Pass:
			passed[c.Kind]++
		case disputed[c.File].column != "":
			d := disputed[c.File]
			got := w.query("SELECT "+d.column+" FROM items WHERE feed_id = (SELECT id FROM feeds WHERE url = ?)", origin+"/given/"+c.File)
			for _, right := range d.right {
				if right = strings.ReplaceAll(right, "{ORIGIN}", origin); !slices.Contains(got, right) {
					w.t.Errorf("crawl %d: %s: %s is not among %q", phase, c.File, right, got)
				}
			}
		default:
			w.t.Errorf("crawl %d: %s (%s): %s", phase, c.File, c.Kind, c.Bad)
		}
	}
	kinds, sum := []string(nil), 0
	for kind := range total {
		kinds, sum = append(kinds, kind), sum+passed[kind]
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		w.t.Logf("crawl %d: %-12s %3d of %3d", phase, kind, passed[kind], total[kind])
	}
	w.t.Logf("crawl %d: %-12s %3d of %3d", phase, "all", sum, len(list))
}
