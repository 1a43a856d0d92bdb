package feed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// readInPortions reads a document with portions of that many bytes.
func readInPortions(size int, d Document) (*Feed, error) {
	defer func(before int) { portionSize = before }(portionSize)
	portionSize = size
	return Read(context.Background(), d)
}

// checkPortions reads a document at once and in portions of several sizes, and compares all that is said of it.
func checkPortions(t *testing.T, name string, d Document) *Feed {
	t.Helper()
	want, wantErr := readInPortions(1<<30, d)
	for _, size := range []int{1, 2 << 10, 20 << 10} {
		got, err := readInPortions(size, d)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s in portions of %d: got %v, want %v", name, size, err, wantErr)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s in portions of %d: got\n%+v\nwant\n%+v", name, size, got, want)
		}
	}
	return want
}

// What gofeed is given in portions gives exactly what it gives at once: of whole documents, of changed ones whose other
// items are known, and of broken ones.
func TestPortionsChangeNothing(t *testing.T) {
	for _, name := range []string{"rss.xml", "atom.xml", "rdf.xml", "feed.json", "koi8.xml"} {
		d := sample(t, name)
		checkPortions(t, name, d)
		for n := len(d.Body) / 2; n < len(d.Body); n += 97 {
			cut := d
			cut.Body = d.Body[:n:n]
			checkPortions(t, fmt.Sprint(name, " cut at ", n), cut)
		}
	}
	items := strings.Repeat("<item><guid>1</guid><title>x</title></item><item><guid>2</guid><title>y</title><link>z</link></item>", 20)
	seldom := func(items string) string { // the parser does not see a:item
		return "<a:rss xmlns:a='http://www.w3.org/2005/Atom'><channel>" + items + "</channel></a:rss>"
	}
	refused := "<a:item><title>x</title></a:item>"
	numbers := `{"id":1,"title":2},{"id":"3","content_text":"` + strings.Repeat("x", 200) + `"},`
	for name, body := range map[string]string{
		"no item":                         rssOf(""),
		"twins":                           rssOf(items),
		"an item that cannot be read":     seldom(items + refused + items + refused),
		"items that cannot be read":       seldom(strings.Repeat(refused, 20)),
		"a head that cannot be read":      `{"version":"https://jsonfeed.org/version/1","authors":7,"items":[` + strings.Repeat(`{"id":"1"},{"id":"2"},`, 20) + `{}]}`,
		"both":                            `{"version":"https://jsonfeed.org/version/1","authors":7,"items":[` + strings.Repeat(`{"id":"1"},{"id":2},{"id":"3","x":y},`, 20) + `{}]}`,
		"what only the parser takes":      "<z:rss xmlns:z='u' xmlns:y='u'><channel><y:item/>" + strings.Repeat("<z:item><title>x</title></z:item><item/>", 20) + "</channel></z:rss>",
		"items in and beside the channel": "<rss xml:base='http://r/'>" + items + "<channel xml:base='http://c/'>" + items + "<link>/l</link>" + items + "</channel>" + items + "</rss>",
		"items without a channel":         "<rss>" + items + "</rss>",
		"an empty channel":                "<rss><channel/>" + items + "</rss>",
		"a namespace of another item":     rssOf("<item xmlns:d='http://purl.org/dc/elements/1.1/'><d:title>x</d:title></item><item><d:title>x</d:title></item>" + items),
		"authors and title at the end":    atomOf(strings.Repeat("<entry><id>1</id></entry><entry><id>2</id></entry>", 20) + "<author><name>A</name></author><title>T</title>"),
		"members of the wrong type":       `{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(numbers, 20) + `{}]}`,
		"JSON that is broken in the end":  `{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(`{"id":"1"},`, 20) + `{"id":x}]}`,
		"nothing can be read":             `{"version":"https://jsonfeed.org/version/1","items":[` + strings.Repeat(`{"id":x},`, 20) + `{"id":x}]}`,
	} {
		checkPortions(t, name, Document{Body: []byte(body), URL: "https://example.net/feed"})
	}
}

func TestPortionsOfTheCorpusChangeNothing(t *testing.T) {
	dir, cases := corpus(t)
	for i := range cases {
		if cases[i].HTTP.Status != 200 || raceEnabled && i%4 > 0 {
			continue
		}
		d := cases[i].document(t, dir)
		f := checkPortions(t, cases[i].File, d)
		if original, ok := deckOf(d); ok && f != nil && f.Memory != nil {
			d.Body, d.Memory, d.Rule = original.mutate(rand.New(rand.NewPCG(2, uint64(i))), original).document(), f.Memory, f.Rule
			checkPortions(t, cases[i].File+" changed", d)
		}
	}
}

// Portions hold every item once, and no more than they shall; what stands in each of them is no more than the items are.
func TestPortions(t *testing.T) {
	defer func(before int) { portionSize = before }(portionSize)
	portionSize = 100 << 10
	for name, root := range map[string]string{"small": "<rss>", "large": "<rss a='" + strings.Repeat("x", 300_000) + "'>"} {
		body := root + "<channel>" + smallItems(3000) + "</channel></rss>"
		r := &reader{ctx: context.Background(), d: Document{Body: []byte(body)}, feed: &Feed{}}
		if err := r.prepare(); err != nil {
			t.Fatal(err)
		}
		next, given, elements := 0, 0, 0
		parts := r.portions(func(i int) bool { return i%3 > 0 })
		for _, p := range parts {
			if p.start != next {
				t.Errorf("%s: a portion of the items from %d to %d follows one that ends at %d", name, p.start, p.end, next)
			}
			next = p.end
			doc := r.bare(nil, func(i int) bool { return i%3 > 0 && p.start <= i && i < p.end })
			given += len(doc)
			elements = max(elements, 18*(p.end-p.start))
		}
		if next != 3000 || len(parts) < 2 || given > 3*len(body) || elements*elementSize > 2*max(portionSize, len(root)) {
			t.Errorf("%s: %d portions up to item %d, %d bytes of %d, up to %d elements", name, len(parts), next, given, len(body), elements)
		}
	}
}

// An item that is lost because it is too large is so in each document that holds it, and what is known of the others stays.
func TestTooLargeItemIsLost(t *testing.T) {
	small := "<item><guid>1</guid><title>x</title></item>"
	large := "<item><guid>2</guid>" + strings.Repeat("<category>c</category>", maxPart) + "</item>"
	documents := [][]byte{[]byte(rssOf(small)), []byte(rssOf(large + small)), []byte(rssOf(large + small)), []byte(rssOf(small + small + large)), []byte(rssOf(small))}
	checkSequence(t, "a large item that comes and goes", documents, "https://example.net/feed")
	f := readText(t, rssOf(large+small))
	if want := fmt.Sprintf("[item 1 cannot be read: it has more than %d elements]", maxPart); fmt.Sprint(f.Warnings) != want || !f.Partial || len(f.Items) != 1 {
		t.Errorf("got %q, partial %v, %d items", f.Warnings, f.Partial, len(f.Items))
	}
	most := strings.Replace(large, "<guid>2</guid><category>c</category>", "", 1)
	if f := readText(t, rssOf(most+small)); len(f.Items) != 2 || f.Partial {
		t.Errorf("of as many elements as may be: %d items, %q", len(f.Items), f.Warnings)
	}
}
