package cmd

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// bomb is a small document that would cost a careless reader minutes, gigabytes or its life.
type bomb struct {
	name, head string
	open       string // so many times
	times      int
	middle     string
	shut       string // and as many times
	tail       string
	slow       bool // takes a second or so of processor, or much memory
}

const (
	rssHead  = `<rss version="2.0" xmlns:x="urn:x"><channel><title>T</title><item><guid>1</guid>`
	rssTail  = `</item></channel></rss>`
	jsonHead = `{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","x":`
)

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// bombs are those that are known to end readers which parse what they get.
func bombs() []bomb {
	laughs := "<!DOCTYPE rss [<!ENTITY e0 'lol'>"
	for i := range 30 {
		laughs += fmt.Sprintf("<!ENTITY e%d '%s'>", i+1, strings.Repeat(fmt.Sprintf("&e%d;", i), 10))
	}
	return []bomb{
		{name: "2 million nested elements in an extension", head: rssHead + "<x:a>", open: "<a>", shut: "</a>", times: 2_000_000, tail: "</x:a>" + rssTail},
		{name: "2 million elements that never end", head: rssHead + "<title>", open: "<a>", times: 2_000_000},
		{name: "5,000 namespaces and 20,000 elements", head: "<rss" + numbered(5000, " xmlns:n%d='u'") + "><channel><item>", open: "<a/>", times: 20_000, tail: rssTail},
		{name: "60 namespaces and 400,000 elements", head: "<rss" + numbered(60, " xmlns:n%d='u'") + "><channel><item>", open: "<n1:a/>", times: 400_000, tail: rssTail},
		{name: "20,000 nested xml:base", head: rssHead, open: "<a xml:base='abcdefghij/'>", shut: "</a>", times: 20_000, tail: rssTail},
		{slow: true, name: "200 nested xml:base of 60 KB", head: rssHead, open: "<a xml:base='" + strings.Repeat("x/", 30_000) + "'>", shut: "</a>", times: 200, tail: rssTail},
		{name: "300,000 comments in one text", head: rssHead + "<x:t>", open: "a<!---->", times: 300_000, tail: "</x:t>" + rssTail},
		{name: "600,000 elements", head: rssHead, open: "<a/>", times: 600_000, tail: rssTail},
		{slow: true, name: "490,000 extension elements", head: rssHead + "<x:p>", open: "<x:a b='c'/>", times: 490_000, tail: "</x:p>" + rssTail},
		{name: "20,001 items", head: "<rss><channel>", open: "<item/>", times: 20_001, tail: "</channel></rss>"},
		{name: "a million attributes", head: "<rss><channel><item" + numbered(1_000_000, " a%d=''"), tail: "/></channel></rss>"},
		{name: "entities in entities", head: laughs + "]>" + rssHead, middle: "<title>&e30;</title>", tail: rssTail},
		{name: "an external entity", head: `<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]>` + rssHead, middle: "<title>&f;</title>", tail: rssTail},
		{slow: true, name: "8 million ampersands", head: rssHead + "<title>", open: "&", times: 8_000_000, tail: "</title>" + rssTail},
		{slow: true, name: "4 million bare <", head: rssHead + "<title>", open: "< ", times: 4_000_000, tail: "</title>" + rssTail},
		{slow: true, name: "2 million comments without end", head: rssHead + "<title>", open: "<!--", times: 2_000_000, tail: "</title>" + rssTail},
		{name: "2 million end tags", head: rssHead + "<title>", open: "</x>", times: 2_000_000, tail: "</title>" + rssTail},
		{slow: true, name: "a date of 8 MB", head: rssHead + "<pubDate>", open: "1 Jan ", times: 1_400_000, tail: "</pubDate>" + rssTail},
		{name: "HTML that is a tree of 100 million nodes", head: `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><title type="html"><![CDATA[<p>` + numbered(500, "<b id='%d'>"),
			open: "<p>x</p>", times: 200_000, tail: "]]></title></entry></feed>"},
		{name: "JSON nested a million deep", head: jsonHead, open: "[", shut: "]", times: 1_000_000, tail: "}]}"},
		{name: "JSON of 4 million values", head: jsonHead + "[", open: "1,", times: 4_000_000, tail: "1]}]}"},
		{name: "64 MiB of nothing", head: rssHead + rssTail, open: strings.Repeat(" ", 1<<20), times: 64},
	}
}

// packed is the bomb as it goes over the wire.
func (b bomb) packed(t *testing.T) string {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	some := max(1, min(b.times, 1<<16/max(1, len(b.open)+len(b.shut))))
	repeat := func(s string) {
		for n := b.times; n > 0 && s != ""; n -= some {
			io.WriteString(w, strings.Repeat(s, min(n, some)))
		}
	}
	io.WriteString(w, b.head)
	repeat(b.open)
	io.WriteString(w, b.middle)
	repeat(b.shut)
	io.WriteString(w, b.tail)
	w.Close()
	return out.String()
}

// raced says whether the race detector is in this binary, which makes memory several times as much.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// servedBombs puts bombs on hosts of their own, by URL.
func servedBombs(t *testing.T, b *web, bombs []bomb) map[string]string {
	names := map[string]string{}
	for _, x := range bombs {
		a := reply{header: map[string]string{"Content-Encoding": "gzip"}, body: x.packed(t)}
		names[b.page(b.host()+feedPath, always(a)).url] = x.name
	}
	return names
}

// limited runs the program with so much memory, in KiB, of which it may take so much; its hook looks.
func (b *web) limited(w *world, what string, limit, most int) {
	w.t.Helper()
	b.tick(runAt(0))
	seen := filepath.Join(w.t.TempDir(), "peak")
	c := command(w.t, append(w.env, "CRAWL_TEST_NOW="+runAt(0).Format(time.RFC3339), "CRAWL_HOOK=grep VmHWM /proc/$PPID/status > "+seen), "run")
	if !raced() { // the detector's own memory is terabytes of addresses
		c.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -d %d && exec "$0" "$@"`, limit), c.Path}, c.Args[1:]...)
		c.Path = "/bin/sh"
	}
	e := begin(w.t, c, []string{"run"}).wait().want(0).wantSilence()
	text, err := os.ReadFile(seen)
	peak := 0
	if _, bad := fmt.Sscanf(string(text), "VmHWM: %d kB", &peak); bad != nil {
		w.t.Fatalf("%s: the hook saw %q, %v", what, text, err)
	}
	w.t.Logf("%s: %v, %d MiB", what, e.elapsed.Round(time.Millisecond), peak>>10)
	if peak > most && !raced() {
		w.t.Errorf("%s: the run took %d MiB, more than %d", what, peak>>10, most>>10)
	}
}

// wantOthers checks that good feeds are stored and that bombs have a verdict of their own.
func (w *world) wantOthers(names map[string]string) {
	w.t.Helper()
	for _, row := range w.query("SELECT url, coalesce(last_error_kind, 'read'), coalesce(last_error, last_warning, ''), (SELECT count(*) FROM items WHERE feed_id = f.id) FROM feeds f") {
		u, verdict, _ := strings.Cut(row, " | ")
		name, kind := names[u], strings.Fields(verdict)[0]
		switch {
		case name == "" && verdict != "read |  | 5":
			w.t.Errorf("a good feed beside bombs: %s", row)
		case name != "" && kind != "read" && kind != "too-large" && kind != "parse" && kind != "truncated":
			w.t.Errorf("%s: %s", name, verdict)
		case name != "":
			w.t.Logf("%s: %s", name, verdict)
		}
	}
	w.sound()
}

// TestBombsCostNobodyElse serves bombs beside good feeds to one run whose memory is limited: it ends, in good time, and the good feeds are
// stored. The long form serves all of them at once, and then each alone.
func TestBombsCostNobodyElse(t *testing.T) {
	t.Parallel()
	b := newWeb(t)
	list := bombs()
	if !long() {
		list = slices.DeleteFunc(list, func(x bomb) bool { return x.slow })
	}
	names := servedBombs(t, b, list)
	var good []string
	for range 20 {
		good = append(good, b.page(b.host()+feedPath, func(_ time.Time, r *http.Request) reply { return serving(r, `"e"`, "", rss("", 1, 5)) }).url)
	}
	w := newWorld(t, nil)
	w.follows(append(keys(names), good...)...)
	most := 300 << 10
	if long() {
		most = 600 << 10
	}
	b.limited(w, fmt.Sprintf("%d bombs", len(names)), 1<<20, most)
	w.wantOthers(names)
	if !long() {
		return
	}
	for u, name := range names {
		w := newWorld(t, nil)
		w.follows(append(good[:5:5], u)...)
		b.limited(w, name, 600<<10, 300<<10)
		w.wantOthers(map[string]string{u: name})
	}
}

// TestLargeDocumentsWithinBoundedMemory has a run read as much content at once as would fill a small machine.
func TestLargeDocumentsWithinBoundedMemory(t *testing.T) {
	if !long() {
		t.Skip("skipped: it writes half a gigabyte; CRAWL_TEST_LONG=1 runs it")
	}
	b := newWeb(t)
	var list []bomb
	for n := range 40 {
		list = append(list, bomb{name: fmt.Sprint(n), head: rssHead + "<description>", open: "some text of an item that is long ", times: 400_000, tail: "</description>" + rssTail})
	}
	w := newWorld(t, nil)
	w.follows(keys(servedBombs(t, b, list))...)
	b.limited(w, "40 documents of 13 MB", 2<<20, 800<<10)
	if n := w.number("SELECT count(*) FROM contents WHERE length(summary) > 13000000"); n != len(list) {
		t.Errorf("%d of them are stored", n)
	}
	w.sound()
}
