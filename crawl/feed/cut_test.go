package feed

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// table is what a store would hold of one feed.
type table struct {
	rule int
	rows map[string]Item
}

func (s *table) apply(f *Feed) {
	if s.rows == nil {
		s.rows = map[string]Item{}
	}
	if s.rule != f.Rule {
		rekeyed := map[string]Item{}
		for _, it := range s.rows {
			it.Key = it.key(f.Rule)
			rekeyed[it.Key] = it
		}
		s.rows, s.rule = rekeyed, f.Rule
	}
	for _, it := range f.Items {
		s.rows[it.Key] = it
	}
}

// checkSequence reads the documents in turn, once with the memory of the last and once without, and compares the rows and
// all else that is said of each.
func checkSequence(t *testing.T, name string, documents [][]byte, address string) (left int) {
	t.Helper()
	var cutting, whole table
	var memory []byte
	ctx := context.Background()
	for n, body := range documents {
		d := Document{Body: body, ContentType: "text/plain; charset=utf-8", URL: address, Rule: whole.rule}
		want, wantErr := Read(ctx, d)
		d.Memory, d.Rule = memory, cutting.rule
		got, err := Read(ctx, d)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s, document %d: with memory: %v; without: %v", name, n, err, wantErr)
		}
		if err != nil {
			continue
		}
		if !got.Whole {
			left += len(got.Keys) - len(got.Items)
		}
		if got.Memory != nil {
			memory = got.Memory
		}
		cutting.apply(got)
		whole.apply(want)
		if !reflect.DeepEqual(cutting, whole) {
			t.Fatalf("%s, document %d (whole %v, %q): rows differ:\n%s\n%s", name, n, got.Whole, got.Why, differences(cutting.rows, whole.rows), body)
		}
		if fmt.Sprint(got.Keys) != fmt.Sprint(want.Keys) || got.Count != want.Count || got.Partial != want.Partial || got.Title != want.Title ||
			got.SiteURL != want.SiteURL || got.ImageURL != want.ImageURL || got.Language != want.Language || !reflect.DeepEqual(got.Hints, want.Hints) {
			got.Items, want.Items, got.Memory, want.Memory = nil, nil, nil, nil
			t.Fatalf("%s, document %d: got\n%+v\nwant\n%+v", name, n, got, want)
		}
	}
	return left
}

func differences(got, want map[string]Item) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[k]; !ok {
			fmt.Fprintf(&out, "missing %q\n", k)
		} else if !reflect.DeepEqual(got[k], want[k]) {
			fmt.Fprintf(&out, "got  %+v\nwant %+v\n", got[k], want[k])
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			fmt.Fprintf(&out, "too many %q\n", k)
		}
	}
	return out.String()
}

// deck is a document in parts that can be put together anew.
type deck struct {
	before, after, between string
	items                  []string
}

func deckOf(d Document) (deck, bool) {
	r := &reader{ctx: context.Background(), d: d, feed: &Feed{}}
	if r.prepare() != nil || len(r.lay.items) == 0 {
		return deck{}, false
	}
	k := deck{between: "\n"}
	end := 0
	if r.format == typeJSON {
		whole := string(r.document(nil, func(int) bool { return false }))
		k.before, k.after, k.between = strings.TrimSuffix(whole, "]}"), "]}", ","
	} else {
		k.before = string(r.b[:r.lay.items[0].start])
	}
	for _, it := range r.lay.items {
		k.items = append(k.items, string(it.of(r.b)))
		end = it.end
	}
	if k.after == "" {
		k.after = string(r.b[end:r.lay.end])
	}
	return k, true
}

func (k deck) document() []byte {
	return []byte(k.before + strings.Join(k.items, k.between) + k.after)
}

// mutate gives a document that is like the last but for one or two changes.
func (k deck) mutate(r *rand.Rand, original deck) deck {
	k.items = slices.Clone(k.items)
	pick := func() int { return r.IntN(len(k.items)) }
	for range 1 + r.IntN(2) {
		if len(k.items) == 0 {
			k.items = slices.Clone(original.items)
		}
		switch r.IntN(9) {
		case 0:
			i := pick()
			k.items = slices.Delete(k.items, i, i+1)
		case 1:
			r.Shuffle(len(k.items), func(i, j int) { k.items[i], k.items[j] = k.items[j], k.items[i] })
		case 2:
			k.items = append(k.items, k.items[pick()])
		case 3: // alter
			i := pick()
			k.items[i] = alter(r, k.items[i])
		case 4: // one item gets a part of another: its id, link or title
			i, j := pick(), pick()
			k.items[i] = graft(r, k.items[i], k.items[j])
		case 5:
			k.before = alter(r, k.before)
		case 6:
			k.before = strings.Replace(k.before, "Date>", "Date>9", 1)
		case 7:
			k.items = slices.Clone(original.items[:1+r.IntN(len(original.items))])
		case 8:
			k.items = slices.Insert(k.items, r.IntN(len(k.items)+1), alter(r, k.items[pick()]))
		}
	}
	return k
}

// alter changes a letter or digit, which leaves most markup as it is.
func alter(r *rand.Rand, s string) string {
	b := []byte(s)
	for range 20 {
		if i := r.IntN(len(b)); 'a' <= b[i] && b[i] < 'z' || '0' <= b[i] && b[i] < '9' {
			b[i]++
			break
		}
	}
	return string(b)
}

// graft puts the content of an element of from into the same element of to.
func graft(r *rand.Rand, to, from string) string {
	var parts []child
	if !strings.HasPrefix(from, "<") {
		return to
	}
	eachChild([]byte(from), func(c child) { parts = append(parts, c) })
	if len(parts) == 0 {
		return to
	}
	c := parts[r.IntN(len(parts))]
	out := to
	eachChild([]byte(to), func(own child) {
		if bytes.Equal(own.name, c.name) && len(own.content) > 0 {
			out = strings.Replace(to, string(own.tag)+string(own.content), string(c.tag)+string(c.content), 1)
		}
	})
	return out
}

// What is left out must change nothing: for every document and every sequence of documents.
func TestCuttingChangesNothing(t *testing.T) {
	dir, cases := corpus(t)
	left, read := 0, 0
	for i := range cases {
		if cases[i].HTTP.Status != 200 || raceEnabled && i%4 > 0 { // under the race detector a sample must do
			continue
		}
		d := cases[i].document(t, dir)
		original, ok := deckOf(d)
		if !ok {
			continue
		}
		r := rand.New(rand.NewPCG(1, uint64(i)))
		documents := [][]byte{original.document(), original.document()}
		k := original
		for range 6 {
			k = k.mutate(r, original)
			documents = append(documents, k.document())
		}
		left += checkSequence(t, cases[i].File, documents, d.URL)
		read += len(documents)
	}
	t.Logf("%d documents, %d items were not parsed again", read, left)
	if left == 0 {
		t.Error("nothing was ever left out")
	}
}

// Sequences in which something outside the items changes what the items mean, or who they are.
func TestSequences(t *testing.T) {
	const latin = `<?xml version="1.0" encoding="iso-8859-1"?>`
	item := func(fields string) string { return "<item>" + fields + "</item>" }
	a, b := item("<guid>1</guid><link>a</link><title>Müller</title>"), item("<guid>2</guid><link>b</link><title>x</title>")
	for name, documents := range map[string][]string{
		"a byte in a comment changes the characters": {latin + rssOf("<!-- -->"+a+b), latin + rssOf("<!-- \xff -->"+a+b), latin + rssOf("<!-- -->"+a+b)},
		"a byte behind the feed":                     {latin + rssOf(a), latin + rssOf(a) + "\xff", latin + rssOf(a)},
		"a byte before the feed":                     {latin + rssOf(a), latin + "\xfc" + rssOf(a), latin + rssOf(a)},
		"half a character before an item":            {latin + rssOf(a), latin + rssOf("\xc3"+a), latin + rssOf(a)},
		"an item that moves out of the channel":      {"<rss><channel xml:base='http://c/'>" + a + b + "</channel></rss>", "<rss>" + a + "<channel xml:base='http://c/'>" + b + "</channel></rss>"},
		"an item that is broken and whole again":     {rssOf(a + b), rssOf(a + "<item><title>y</titel></item>" + b), rssOf(a + b)},
		"a document that is cut off":                 {rssOf(a + b), rssOf(a)[:80], rssOf(b + a)},
		"twins that part": {
			rssOf(item("<guid>1</guid><pubDate>1 Jan 2026</pubDate>") + item("<guid>1</guid><pubDate>2 Jan 2026</pubDate>")), rssOf(item("<guid>1</guid><pubDate>1 Jan 2026</pubDate>")),
			rssOf(item("<guid>1</guid><pubDate>2 Jan 2026</pubDate>")), rssOf(item("<guid>1</guid><pubDate>2 Jan 2026</pubDate>") + item("<guid>1</guid><pubDate>2 Jan 2026</pubDate>")),
		},
		"an id taken over":                    {rssOf(a + b), rssOf(item("<guid>2</guid><link>a</link>") + b), rssOf(a + b)},
		"a list that was no list":             {`{"version":"1","items":[{"id":"1"}]}`, `{"version":"1","items":[]}`, `{"version":"1","items":[{"id":"1"},{"id":"2"}]}`},
		"a second list of items":              {`{"version":"1","items":[{"id":"1"}]}`, `{"version":"1","items":[{"id":"1"}],"items":[{"id":"2"}]}`},
		"a list of items by another spelling": {`{"version":"1","items":[{"id":"1"}]}`, `{"version":"1","\u0069tems":[{"id":"2"}],"items":[{"id":"1"}]}`, `{"version":"1","items":[{"id":"1"}],"\u0069tems":[{"id":"2"}]}`},
		"another format, same item":           {rssOf(a), strings.NewReplacer("rss", "rdf").Replace(rssOf(a)), rssOf(a)},
	} {
		var bodies [][]byte
		for _, d := range documents {
			bodies = append(bodies, []byte(d))
		}
		checkSequence(t, name, bodies, "https://example.net/feed")
	}
}
