package feed

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A document is a head, a piece repeated to a size, and an end. The ends make the same piece take different ways through
// the mending: cut off, whole, or with the root's end tag alone.
var (
	repeatedPieces = []string{
		"<![CDATA[", "<![CDATA[]]>", "<![CDATA[</zz>", "<z><![CDATA[</y>", "<!--", "<!-- -- -->", "<!", "<!x", "<!DOCTYPE [", "<!DOCTYPE \"", "<!ENTITY e '&e;'>",
		"<?", "<?x ", "<?xml?>", "<", "< ", "<a", "<a ", "<a>", "</", "</a", "</a>", "</ a>", "<a/", "/>", ">", "]]>", "]]", "--", "-->",
		"&", "&#", "&#x", "&#27;", "&amp;", "&lt;", "&lt;b&gt;", "&lt;!--", "&x;", "&#x1f600;", "\"", "'", "<a b=", "<a b='", "<a b=\"", "<a b='\"", "<a b='\">", "<a b=\"<", "<a\" b=\"", "<a' b='<a\" b=\"",
		"<a b='><a b=\">", " a", " a=", " a='", " a=\"'", " a='' a=\"\"", " xmlns:a='u'", "<a xmlns='u'>", "<a xmlns:b='u'/>", "<a xml:base='x/'>", "<a:b:c>", "a:", "=",
		"<item>", "<item><title>", "</item>", "<item/>", "<entry>", "<channel>", "</channel>", "</rss>", "<rss>", "<title>", "<link>", "<title></titel>", "<item><a b='",
		"<description>", "<item><description><![CDATA[", "\x00", "\x1b", "\xff", "\xef\xbf\xbf", "\xc3", "%", "%20", " ", "\n", "<p>", "&lt;p a='",
		"<enclosure url='1'/>", "<category>a</category>", "<author>a</author>", "<pubDate>x</pubDate>", "<guid>1</guid>",
	}
	xmlFrames = [][2]string{
		{"", ""}, {"<rss><channel><item><title>", ""}, {"<rss><channel><item><title>", "</title></item></channel></rss>"}, {"<rss><channel><item><zzz>", "</rss>"},
		{"<rss><channel><item ", "</rss>"}, {"<feed xmlns='http://www.w3.org/2005/Atom'><entry><title type='html'>", "</title></entry></feed>"},
	}
	jsonPieces = []string{`"`, `\`, `\"`, `\\`, `[`, `{`, `]`, `}`, `,`, `:`, `"a":`, `{"`, `{"a":"`, `{},`, `{"id":1},`, `{"id":"1"},`, `"\`, `"a",`, "1,", "\x00", " "}
	jsonFrames = [][2]string{
		{`{"version":"https://jsonfeed.org/version/1","items":[`, "{}]}"}, {`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","content_html":"`, `"}]}`},
		{`{"version":"https://jsonfeed.org/version/1","_x":`, ""},
	}
)

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// readingCost is the processor time of one reading.
func readingCost(body string) time.Duration {
	before := processorTime()
	Read(context.Background(), Document{Body: []byte(body), URL: "https://example.net/"})
	return processorTime() - before
}

// Four times the document does not cost much more than four times the time, whatever is repeated in it; where the square grows it
// costs sixteen times. What is read within twenty milliseconds is not compared: a quadratic pass over 256 KB takes hundreds. A shared
// machine may slow down for one reading, but not for each of many.
func TestLinear(t *testing.T) {
	if raceEnabled {
		t.Skip("time is not measured under the race detector")
	}
	check := func(head, piece, end string) {
		of := func(size int) string { return head + strings.Repeat(piece, size/len(piece)) + end }
		small, large := of(256<<10), of(1<<20)
		once, fourfold := readingCost(small), time.Hour
		if once < 20*time.Millisecond {
			return
		}
		for range 6 {
			once, fourfold = min(once, readingCost(small)), min(fourfold, readingCost(large))
			if fourfold < 9*once && fourfold < 4*time.Second {
				return
			}
		}
		t.Errorf("%q, %q repeated, %q: %v, of a quarter of the size %v", head, piece, end, fourfold, once)
	}
	for _, piece := range repeatedPieces {
		for _, frame := range xmlFrames {
			check(frame[0], piece, frame[1])
		}
	}
	for _, piece := range jsonPieces {
		for _, frame := range jsonFrames {
			check(frame[0], piece, frame[1])
		}
	}
}

// An item that memory knows and that is gone is not hashed again at each of the others.
func TestGoneItemIsHashedSeldom(t *testing.T) {
	k := &known{mem: &memory{items: []remembered{{known: true, size: 1 << 20}}}, hashing: 4 << 20}
	b := make([]byte, 2<<20)
	for range 1000 {
		if k.match(b, true) != nil {
			t.Fatal("matched")
		}
	}
	if k.hashing < 0 || k.hashing >= 1<<20 {
		t.Errorf("%d bytes are left of 4 MB", k.hashing)
	}
}

// endingContext ends after it has been asked a number of times.
type endingContext struct {
	context.Context
	asked, after int
}

func (c *endingContext) Err() error {
	if c.asked++; c.asked > c.after {
		return context.DeadlineExceeded
	}
	return nil
}

// Every step ends soon after the context has: between two looks at it lie at most a thousand pieces of a document.
func TestStepsStop(t *testing.T) {
	ended := &endingContext{Context: context.Background(), after: 2}
	body := []byte(rssOf(strings.Repeat("<item><title>x</title></item>", 10_000)))
	if lay, _, err := cut(ended, body, typeRSS, nil); err != errTime || len(lay.items) > 1000 {
		t.Errorf("cut: %d items, %v", len(lay.items), err)
	}
	ended.asked = 0
	if out, _ := mend(ended, body, typeRSS); len(out) > len(body)/4 {
		t.Errorf("mend: %d bytes of %d", len(out), len(body))
	}
	ended.asked = 0
	jsonBody := []byte(`{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(`{"id":"1"},`, 10_000) + `{}]}`)
	if lay, _, err := cutJSON(ended, jsonBody, nil); err != errTime || len(lay.items) > 3000 {
		t.Errorf("cutJSON: %d items, %v", len(lay.items), err)
	}
}

// Whenever the context ends within a reading, the reading ends with an error.
func TestReadStops(t *testing.T) {
	for name, body := range map[string]string{
		"whole":  rssOf(strings.Repeat("<item><title>x</title></item>", 3_000)),
		"broken": rssOf(strings.Repeat("<item><title>x</titel></item>", 3_000)),
		"json":   `{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(`{"id":"1"},`, 3_000) + `{}]}`,
	} {
		count := &endingContext{Context: context.Background(), after: 1 << 30}
		if _, err := read(count, Document{Body: []byte(body)}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if count.asked < 3_000 {
			t.Errorf("%s: the context was asked %d times", name, count.asked)
		}
		for after := 0; after < count.asked; after += 1 + count.asked/20 {
			ctx := &endingContext{Context: context.Background(), after: after}
			if f, err := read(ctx, Document{Body: []byte(body)}); err == nil && f != nil && ctx.asked > after {
				t.Errorf("%s: it was read though the context ended at look %d of %d", name, after, count.asked)
			}
		}
	}
}

// panickingContext panics when it is asked, as a fault in a step would.
type panickingContext struct{ context.Context }

func (panickingContext) Err() error { panic("\x1b[31mfault") }

func TestReadContainsPanics(t *testing.T) {
	_, err := Read(panickingContext{context.Background()}, Document{Body: []byte(rssOf("<item/>"))})
	if e, ok := err.(*Error); !ok || e.Kind != KindParse || strings.Contains(e.Text, "\x1b") {
		t.Errorf("got %#v", err)
	}
}
