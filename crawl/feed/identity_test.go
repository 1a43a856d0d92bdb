package feed

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// keepAll reads documents in turn, as a store would, and gives what it holds after each.
func keepAll(t *testing.T, documents ...string) (tables []table) {
	t.Helper()
	var s table
	var memory []byte
	for _, body := range documents {
		f := mustRead(t, Document{Body: []byte(body), URL: "https://example.net/feed", Memory: memory, Rule: s.rule})
		if f.Memory != nil {
			memory = f.Memory
		}
		s.apply(f)
		now := table{s.rule, map[string]Item{}}
		for k, it := range s.rows {
			now.rows[k] = it
		}
		tables = append(tables, now)
	}
	return tables
}

// rssItem writes an item from "guid=1 title=a".
func rssItem(fields string) string {
	for _, name := range []string{"guid", "link", "title", "pubDate", "description"} {
		fields = strings.ReplaceAll(fields, name+"=", "\x00"+name+"=")
	}
	var b strings.Builder
	for _, f := range strings.Split(fields, "\x00")[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
		fmt.Fprintf(&b, "<%s>%s</%s>", name, value, name)
	}
	return "<item>" + b.String() + "</item>"
}

func rssItems(items ...string) string {
	var b strings.Builder
	for _, it := range items {
		b.WriteString(rssItem(it))
	}
	return rssOf(b.String())
}

func atomEntry(id, link, title, updated string) string {
	return fmt.Sprintf("<entry><id>%s</id><link href='%s'/><title>%s</title><updated>%s</updated></entry>", id, link, title, updated)
}

// identityCases are the hard ones: how many rows there are after each document.
var identityCases = []struct {
	name      string
	documents []string
	want      []int
}{
	{"the blog's URL as every id", []string{rssItems("guid=http://b/ link=http://b/1 title=a", "guid=http://b/ link=http://b/2 title=b")}, []int{2}},
	{"the same, and a third later", []string{
		rssItems("guid=http://b/ link=http://b/1 title=a", "guid=http://b/ link=http://b/2 title=b"),
		rssItems("guid=http://b/ link=http://b/3 title=c"), rssItems("guid=http://b/ link=http://b/1 title=a2"),
	}, []int{2, 3, 3}},
	{"RSS: same id and link, other titles", []string{rssItems("guid=1 link=http://b/ title=a", "guid=1 link=http://b/ title=b")}, []int{2}},
	{"RSS: same id, link and title", []string{rssItems("guid=1 link=http://b/ title=a description=x", "guid=1 link=http://b/ title=a description=y")}, []int{1}},
	{"Atom: same id, other links", []string{atomOf(atomEntry("1", "http://b/1", "a", "2026-01-01T00:00:00Z") + atomEntry("1", "http://b/2", "a", "2026-01-01T00:00:00Z"))}, []int{2}},
	{"Atom: same id and link", []string{atomOf(atomEntry("1", "http://b/", "old", "2026-01-01T00:00:00Z") + atomEntry("1", "http://b/", "new", "2026-01-02T00:00:00Z"))}, []int{1}},
	{"JSON: same id and link", []string{`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","title":"a"},{"id":"1","title":"b"}]}`}, []int{1}},
	{"a guid again, with link, title and date moved", []string{rssItems("guid=1 link=http://b/1 title=a"), rssItems("guid=1 link=http://b/1?utm=x title=b")}, []int{1, 1}},
	{"no guid, same link and date", []string{rssItems("link=http://b/ title=a pubDate=1 Jan 2026", "link=http://b/ title=b pubDate=1 Jan 2026")}, []int{2}},
	{"neither guid, link nor date", []string{rssItems("title=a description=x"), rssItems("title=a description=x"), rssItems("title=b", "title=a description=x")}, []int{1, 1, 2}},
	{"from 5 to 3 items and back", []string{
		rssItems("guid=1", "guid=2", "guid=3", "guid=4", "guid=5"), rssItems("guid=1", "guid=2", "guid=3"), rssItems("guid=1", "guid=2", "guid=3", "guid=4", "guid=5"),
	}, []int{5, 5, 5}},
	{"http to https and back", []string{
		rssItems("guid=http://b/1 title=a", "link=http://b/2 title=b"), rssItems("guid=https://b/1 title=a", "link=https://b/2 title=b"), rssItems("guid=HTTP://b/1 title=a", "link=http://b/2 title=b"),
	}, []int{2, 2, 2}},
	{"a date moves", []string{rssItems("title=a description=x pubDate=1 Jan 2026"), rssItems("title=a description=x pubDate=2 Jan 2026")}, []int{1, 1}},
	{"an item gets its link as guid", []string{rssItems("link=http://b/1 title=a"), rssItems("link=http://b/1 guid=http://b/1 title=a")}, []int{1, 1}},
	{"an item twice, the same", []string{rssItems("guid=1 title=a", "guid=1 title=a")}, []int{1}},
	{"an id that is another item's link", []string{
		rssItems("link=https://x/1 title=T", "guid=https://x/1 link=http://b/a title=T", "guid=https://x/1 link=http://b/b title=T"),
		rssItems("guid=https://x/1 link=http://b/a title=T", "guid=https://x/1 link=http://b/b title=T", "link=https://x/1 title=T"),
	}, []int{3, 3}},
	{"no items", []string{rssItems("guid=1 title=a"), rssItems()}, []int{1, 1}},
	{"a rule for ids does not touch items without", []string{
		rssItems("link=http://b/9 title=x"), rssItems("guid=1 link=http://b/1 title=a", "guid=1 link=http://b/2 title=b", "link=http://b/9 title=y"),
	}, []int{1, 3}},
}

func TestIdentity(t *testing.T) {
	for _, c := range identityCases {
		for i, s := range keepAll(t, c.documents...) {
			if len(s.rows) != c.want[i] {
				t.Errorf("%s: after document %d %d rows, want %d: %+v", c.name, i+1, len(s.rows), c.want[i], s.rows)
			}
		}
	}
}

func TestNewestOfARepeatedIDStays(t *testing.T) {
	older := atomEntry("1", "http://b/", "old", "2026-01-01T00:00:00Z")
	newer := atomEntry("1", "http://b/", "new", "2026-01-02T00:00:00Z")
	tables := keepAll(t, atomOf(older+newer), atomOf(newer+older), atomOf(older), atomOf(older+newer))
	for i, want := range []string{"new", "new", "old", "new"} {
		if got := tables[i].rows["1"].Title; got != want {
			t.Errorf("after document %d: got %q, want %q", i+1, got, want)
		}
	}
}

// Which items are one, and which of them stays, does not depend on their order.
func TestOrderDoesNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var items []string
		for range 2 + r.IntN(5) {
			var b strings.Builder
			for _, name := range []string{"guid", "link", "title", "pubDate"} {
				if v := r.IntN(4); v > 0 {
					fmt.Fprintf(&b, "<%s>%s</%s>", name, map[string]string{"guid": "http://h/%d", "link": "http://h/%d", "title": "%d", "pubDate": "%d Jan 2026"}[name], name)
					items = append(items, "")
					text := fmt.Sprintf(strings.ReplaceAll(b.String(), "%d", "%[1]d"), v)
					b.Reset()
					b.WriteString(text)
					items = items[:len(items)-1]
				}
			}
			items = append(items, "<item>"+b.String()+"</item>")
		}
		first := keepAll(t, rssOf(strings.Join(items, "")))[0]
		slices.Reverse(items)
		second := keepAll(t, rssOf(strings.Join(items, "")))[0]
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("%q:\n%+v\n%+v", items, first, second)
		}
	}
}

// A store re-keys by what it has stored: the key must follow from that alone.
func TestKeyFollowsFromWhatIsStored(t *testing.T) {
	check := func(f *Feed) {
		for _, it := range f.Items {
			text := it.Content
			if text == "" {
				text = it.Summary
			}
			if got := Key(f.Rule, it.GUID, it.URL, it.Title, text); got != it.Key || got == "" || len(got) > maxKey {
				t.Errorf("got %q, want %q for %+v", got, it.Key, it)
			}
		}
	}
	for _, name := range []string{"rss.xml", "atom.xml", "rdf.xml", "feed.json", "koi8.xml"} {
		for rule := range ruleMask + 1 {
			d := sample(t, name)
			d.Rule = rule
			f := mustRead(t, d)
			if f.Rule != rule|ruleID {
				t.Errorf("%s: rule %d became %d", name, rule, f.Rule)
			}
			check(f)
		}
	}
	dir, cases := corpus(t)
	for i := range cases {
		if f, err := Read(t.Context(), cases[i].document(t, dir)); err == nil {
			check(f)
		}
	}
}

func TestKeysAreApart(t *testing.T) {
	long := strings.Repeat("x", 2*maxKey)
	seen := map[string]string{}
	for rule := range ruleMask + 1 {
		for _, it := range []Item{
			{GUID: "a", URL: "b"}, {GUID: "a", URL: "b", Title: "c"}, {URL: "a"}, {URL: "a", Title: "b"}, {Title: "a"}, {Title: "a", Content: "b"}, {Title: "ab"},
			{GUID: long + "1"}, {GUID: long + "2"}, {URL: "https://" + long}, {},
		} {
			key := it.key(rule)
			if len(key) > maxKey || key == "" {
				t.Errorf("key of %d bytes", len(key))
			}
			what := fmt.Sprintf("%q %q %q %q", it.GUID, it.URL, it.Title, it.Content)
			if it.GUID != "" && rule&ruleTitle == 0 || it.GUID == "" && it.URL != "" && rule&ruleBare == 0 {
				what = fmt.Sprintf("%q %q", it.GUID, it.URL) // title and text do not count
			}
			if it.GUID != "" && rule&ruleLink == 0 {
				what = strings.Replace(what, fmt.Sprintf("%q", it.URL), "", 1)
			}
			if other, taken := seen[fmt.Sprint(rule, key)]; taken && other != what && !(it.GUID == "" && strings.HasPrefix(other, `"a"`)) {
				t.Errorf("rule %d: %s and %s are both %q", rule, other, what, key)
			}
			seen[fmt.Sprint(rule, key)] = what
		}
	}
}

// What makes an item "updated".
func TestHash(t *testing.T) {
	base := func() Item {
		return Item{GUID: "g", Title: "t", URL: "u", Author: "a", Summary: "s", Content: "c", Categories: []string{"x", "y"}, Enclosures: []Enclosure{{"e", "t", 1}}, PublishedAt: utc("2026-01-01T00:00:00Z")}
	}
	plain := base()
	seen := map[int64]int{plain.hash(): -1}
	for i, change := range []func(*Item){
		func(it *Item) { it.Title = "t2" }, func(it *Item) { it.URL = "u2" }, func(it *Item) { it.Author = "a2" }, func(it *Item) { it.Summary = "s2" }, func(it *Item) { it.Content = "c2" },
		func(it *Item) { it.Categories = []string{"xy"} }, func(it *Item) { it.Categories = []string{"y", "x"} }, func(it *Item) { it.Enclosures[0].Length = 2 },
		func(it *Item) { it.Enclosures[0].URL = "e2" }, func(it *Item) { it.Enclosures = nil }, func(it *Item) { it.PublishedAt = utc("2026-01-02T00:00:00Z") },
		func(it *Item) { it.UpdatedAt = it.PublishedAt; it.PublishedAt = it.PublishedAt.AddDate(1, 0, 0) }, func(it *Item) { it.UpdatedAt = utc("2026-01-02T00:00:00Z") },
		func(it *Item) { it.CommentsURL = "c" }, func(it *Item) { it.ImageURL = "i" }, func(it *Item) { it.Language = "l" }, func(it *Item) { it.Duration = 1 },
		func(it *Item) { it.Summary, it.Content = "sc", "" },
	} {
		it := base()
		change(&it)
		if other, taken := seen[it.hash()]; taken {
			t.Errorf("changes %d and %d give one hash", i, other)
		}
		seen[it.hash()] = i
	}
	it := base()
	it.GUID, it.Key = "g2", "k"
	if it.hash() != plain.hash() {
		t.Error("identity is part of the hash")
	}
}

func TestBodyHash(t *testing.T) {
	d := Document{Body: []byte("ab"), ContentType: "c", URL: "d"}
	for _, other := range []Document{{Body: []byte("a"), ContentType: "bc", URL: "d"}, {Body: []byte("ab"), ContentType: "cd"}, {Body: []byte("ab"), ContentType: "c", URL: "e"}} {
		if BodyHash(d) == BodyHash(other) {
			t.Errorf("%+v", other)
		}
	}
	d.Memory, d.Rule = []byte("x"), 3
	if BodyHash(d) != BodyHash(Document{Body: []byte("ab"), ContentType: "c", URL: "d"}) {
		t.Error("what is known of the feed changed the hash of a body")
	}
}
