package feed

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestMemoryRoundTrip(t *testing.T) {
	m := &memory{
		rule: 5, plain: true, head: 1 << 63, title: "T", site: "https://h/", image: "i", language: "de", interval: 2 * time.Hour, hours: 1<<23 | 1, days: 64, shared: 1,
		items: []remembered{
			{hash: 1, size: 1000, cost: cost{elements: 7, spaces: 42}, base: "a", key: "a", known: true},
			{hash: 1 << 40, base: "b", key: "b#1", known: true, shared: true, again: true},
			{hash: 3},
		},
	}
	if got := unpack(m.pack()); !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, want %+v", got, m)
	}
}

// Damaged memory is none: the document is read as if it were the first.
func TestDamagedMemory(t *testing.T) {
	d := sample(t, "rss.xml")
	want := mustRead(t, d)
	d.Rule = want.Rule
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 2000 {
		b := bytes.Clone(want.Memory)
		switch i % 4 {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 2:
			b = append(b, byte(i))
		case 3:
			b = make([]byte, r.IntN(100))
			for k := range b {
				b[k] = byte(r.Uint32())
			}
		}
		if m := unpack(b); m != nil {
			t.Fatalf("%x was taken for memory", b)
		}
		d.Memory = b
		got := mustRead(t, d)
		if got.Why == "" && len(b) > 0 || !reflect.DeepEqual(got.Items, want.Items) || !bytes.Equal(got.Memory, want.Memory) {
			t.Fatalf("with %x: got %+v", b, got)
		}
	}
}

// What is parsed, and why, after each kind of change.
func TestWhatIsParsed(t *testing.T) {
	d := sample(t, "rss.xml")
	first := mustRead(t, d)
	d.Memory, d.Rule = first.Memory, first.Rule
	change := func(pairs ...string) Document {
		c := d
		c.Body = []byte(strings.NewReplacer(pairs...).Replace(string(d.Body)))
		if bytes.Equal(c.Body, d.Body) {
			t.Fatalf("%q changed nothing", pairs)
		}
		return c
	}
	for _, c := range []struct {
		name  string
		d     Document
		items int
		whole bool
		why   string
	}{
		{"nothing", d, 0, false, ""},
		{"lastBuildDate", change("10:00:00 GMT</lastBuild", "11:00:00 GMT</lastBuild"), 0, false, ""},
		{"ttl", change("<ttl>90", "<ttl>240"), 0, false, ""},
		{"a comment between items", change("taken out", "taken in"), 0, false, ""},
		{"white space between items", change("</item>\n  <", "</item>\n\n\t <"), 0, false, ""},
		{"a comment behind the feed", change("</rss>", "</rss><!-- 0.3 s -->"), 0, false, ""},
		{"one title", change("An episode", "An Episode"), 1, false, ""},
		{"an item is gone", change("<item><title>Café “third”</title><link>https://field.example/3</link><description>ünïcödé</description></item>", ""), 0, false, ""},
		{"a new item", change("<item><title>Caf", "<item><guid>new</guid></item><item><title>Caf"), 1, false, ""},
		{"the feed's title", change("Field &amp;", "Field and"), 3, true, "something outside the items changed"},
		{"the channel's link", change("<link>https://field.example/</link>\n  <atom", "<link>https://field.example/x/</link>\n  <atom"), 3, true, "something outside the items changed"},
		{"a namespace", change("xmlns:atom=", "xmlns:a=''\n xmlns:atom="), 3, true, "something outside the items changed"},
		{"the address", Document{Body: d.Body, Memory: d.Memory, Rule: d.Rule, URL: "https://example.org/"}, 3, true, "something outside the items changed"},
		{"the rule", Document{Body: d.Body, Memory: d.Memory, Rule: 3, URL: d.URL}, 3, true, "the rule of its identities changed"},
		{"another item's id", change("<item><title>Caf", "<item><guid>f-3</guid><title>Caf"), 3, true, "a new item has the identity of another"},
	} {
		f := mustRead(t, c.d)
		if len(f.Items) != c.items || f.Whole != c.whole || f.Why != c.why {
			t.Errorf("%s: got %d items, whole %v, %q; want %d, %v, %q", c.name, len(f.Items), f.Whole, f.Why, c.items, c.whole, c.why)
		}
		if c.name == "ttl" && f.Hints.Interval != 4*time.Hour || c.name != "ttl" && f.Hints.Interval != 2*time.Hour {
			t.Errorf("%s: interval %v", c.name, f.Hints.Interval)
		}
		if same := c.items == 0 && c.name != "an item is gone"; same != (f.Memory == nil) {
			t.Errorf("%s: %d bytes are to be remembered anew", c.name, len(f.Memory))
		}
		if f.Title == "" || len(f.Hints.SkipHours) != 2 {
			t.Errorf("%s: the feed's own fields are lost: %+v", c.name, f)
		}
	}
	for _, name := range []string{"atom.xml", "rdf.xml", "feed.json", "koi8.xml"} {
		d := sample(t, name)
		f := mustRead(t, d)
		d.Memory, d.Rule = f.Memory, f.Rule
		d.Body = bytes.Replace(d.Body, []byte("2026-11-30T10:00:00Z</"), []byte("2026-11-30T11:00:00Z</"), 1) // updated, dc:date
		d.Body = bytes.Replace(d.Body, []byte(`"now"`), []byte(`"then"`), 1)
		if again := mustRead(t, d); again.Whole || len(again.Items) > 0 || !reflect.DeepEqual(again.Keys, f.Keys) {
			t.Errorf("%s read again: %+v", name, again)
		}
	}
}

// What a JSON Feed with a member of the wrong type says is remembered like what any other does.
func TestRepairedJSONIsRemembered(t *testing.T) {
	of := func(extra string) Document {
		return Document{Body: []byte(`{"version":"https://jsonfeed.org/version/1","title":7,"_x":"` + extra + `","items":[{"id":"1","title":"a"},{"id": 2,"title":"b"}]}`)}
	}
	first := mustRead(t, of("a"))
	d := of("b")
	d.Memory, d.Rule = first.Memory, first.Rule
	if f := mustRead(t, d); len(first.Items) != 2 || f.Whole || len(f.Items) > 0 || len(f.Warnings) > 0 || f.Memory != nil {
		t.Errorf("got %+v, then %+v", first, f)
	}
	m := unpack(first.Memory)
	if len(m.items) != 2 || m.items[0].size != len(`{"id":"1","title":"a"}`) {
		t.Errorf("remembered: %+v", m)
	}
}

func TestHints(t *testing.T) {
	const sy = `xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"`
	for _, c := range []struct {
		head     string
		interval time.Duration
		hours    int
		days     int
	}{
		{"", 0, 0, 0},
		{"<ttl>60</ttl>", time.Hour, 0, 0},
		{"<ttl> 1440\n</ttl>", 24 * time.Hour, 0, 0},
		{"<ttl><![CDATA[15]]></ttl>", 15 * time.Minute, 0, 0},
		{"<ttl>1.5</ttl>", 90 * time.Second, 0, 0},
		{"<ttl>-5</ttl>", 0, 0, 0}, {"<ttl>soon</ttl>", 0, 0, 0}, {"<ttl>NaN</ttl>", 0, 0, 0}, {"<ttl/>", 0, 0, 0},
		{"<ttl>99999999999999999999</ttl>", maxInterval, 0, 0}, {"<ttl>Inf</ttl>", maxInterval, 0, 0},
		{"<sy:updatePeriod>hourly</sy:updatePeriod>", time.Hour, 0, 0},
		{"<sy:updatePeriod> Weekly </sy:updatePeriod><sy:updateFrequency>7</sy:updateFrequency>", 24 * time.Hour, 0, 0},
		{"<sy:updateFrequency>13</sy:updateFrequency>", 6646 * time.Second, 0, 0}, // whole seconds, as it is remembered
		{"<sy:updateFrequency>2</sy:updateFrequency>", 12 * time.Hour, 0, 0},
		{"<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", 24 * time.Hour, 0, 0},
		{"<sy:updatePeriod>yearly</sy:updatePeriod>", 365 * 24 * time.Hour, 0, 0},
		{"<sy:updatePeriod>now and then</sy:updatePeriod>", 0, 0, 0},
		{"<ttl>120</ttl><sy:updatePeriod>hourly</sy:updatePeriod>", 2 * time.Hour, 0, 0},
		{"<skipHours><hour>3</hour><hour>24</hour><hour>0</hour><hour>25</hour><hour>-1</hour><hour>x</hour></skipHours>", 0, 2, 0},
		{"<skipHours>" + numbered(24, "<hour>%d</hour>") + "</skipHours>", 0, 0, 0},
		{"<skipDays><day>Monday</day><day> sunday </day><day>Montag</day></skipDays>", 0, 0, 2},
		{"<skipDays><day>Monday</day><day>Tuesday</day><day>Wednesday</day><day>Thursday</day><day>Friday</day><day>Saturday</day><day>Sunday</day></skipDays>", 0, 0, 0},
	} {
		f := readText(t, "<rss "+sy+"><channel>"+c.head+"<item><guid>1</guid></item></channel></rss>")
		if h := f.Hints; h.Interval != c.interval || len(h.SkipHours) != c.hours || len(h.SkipDays) != c.days {
			t.Errorf("%s: got %+v", c.head, h)
		}
	}
}
