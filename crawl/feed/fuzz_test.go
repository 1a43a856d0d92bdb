package feed

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// seeds adds the samples and small documents with a fault each.
func seeds(f *testing.F, add func(body []byte)) {
	f.Helper()
	names, err := filepath.Glob("testdata/*.*")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		add(b)
	}
	for _, items := range []string{
		"<item><title>1 < 2</title></item>", "<item><title>bad</titel><link>http://h/</link></item><item/>", "</item><item><guid>1</guid></item><item><guid>1</guid></item>",
		"<item><description>a<title>b</title></item>", "<!-- -- --><item xmlns='u'><a b='>' c=d e></item>", "<item><![CDATA[</item>]]></item><item>&#27;&#x0;</item>",
		"<item><guid>1</guid><link>a</link><title>x</title></item><item><guid>1</guid><link>b</link><title>y</title></item>",
	} {
		add([]byte(rssOf(items)))
		add([]byte(atomOf(strings.NewReplacer("item", "entry", "guid", "id").Replace(items))))
	}
}

func FuzzRead(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body, "text/xml; charset=utf-8") })
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		feed, err := Read(context.Background(), Document{Body: body, ContentType: contentType, URL: "https://example.net/feed"})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Kind == "" || e.Text == "" || len(e.Text) > maxMessage || !utf8.ValidString(e.Text) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		checkFeed(t, feed)
	})
}

// checkFeed checks what holds for every feed that is read, whatever the bytes.
func checkFeed(t *testing.T, f *Feed) {
	if len(f.Items) > len(f.Keys) || len(f.Keys) > f.Count || f.Count > maxItems || f.Rule&ruleID == 0 || unpack(f.Memory) == nil {
		t.Fatalf("%d items, %d keys, %d counted, rule %d", len(f.Items), len(f.Keys), f.Count, f.Rule)
	}
	if sorted := slices.Sorted(slices.Values(f.Keys)); len(slices.Compact(sorted)) != len(f.Keys) {
		t.Fatalf("keys repeat: %q", f.Keys)
	}
	text := func(limit int, list ...string) {
		for _, s := range list {
			if len(s) > limit || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				t.Fatalf("%d bytes over %d, or not clean: %q", len(s), limit, s)
			}
		}
	}
	text(maxTitle, f.Title, f.Language)
	text(maxURL, f.SiteURL, f.ImageURL)
	text(maxMessage, f.Warnings...)
	for _, w := range f.Warnings {
		if f.Type != typeJSON && strings.HasPrefix(w, "item ") {
			t.Fatalf("the scanner accepted what gofeed does not read: %q", f.Warnings)
		}
	}
	text(maxKey, f.Keys...)
	for _, it := range f.Items {
		if !slices.Contains(f.Keys, it.Key) || it.key(f.Rule) != it.Key || it.hash() != it.Hash {
			t.Fatalf("key or hash of %+v", it)
		}
		text(maxGUID, it.GUID, it.Title, it.Author, it.URL, it.CommentsURL, it.ImageURL, it.Language)
		text(1<<30, it.Summary, it.Content)
		text(maxName, it.Categories...)
		for _, u := range []string{it.URL, it.CommentsURL, it.ImageURL} {
			if l := strings.ToLower(u); u != "" && (!strings.Contains(u, ":") || strings.HasPrefix(l, "javascript:") || strings.HasPrefix(l, "data:")) {
				t.Fatalf("address %q", u)
			}
		}
		if it.Duration < 0 || it.PublishedAt.Nanosecond() != 0 || it.PublishedAt.Year() > 9999 {
			t.Fatalf("%+v", it)
		}
	}
}

// The rows after cutting are the rows after parsing the whole, for every two documents and some mixtures of their parts.
func FuzzCut(f *testing.F) {
	seeds(f, func(body []byte) { f.Add(body, body, uint64(1)) })
	f.Fuzz(func(t *testing.T, one, two []byte, seed uint64) {
		const address = "https://example.net/feed"
		checkSequence(t, "both", [][]byte{one, two, one}, address)
		original, ok := deckOf(Document{Body: one, ContentType: "text/plain; charset=utf-8", URL: address})
		if !ok || len(original.items) > 50 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		if other, ok := deckOf(Document{Body: two, ContentType: "text/plain; charset=utf-8", URL: address}); ok && len(other.items) <= 50 {
			original.items = append(original.items, other.items...)
		}
		documents := [][]byte{original.document()}
		k := original
		for range 4 {
			k = k.mutate(r, original)
			documents = append(documents, k.document())
		}
		checkSequence(t, "mixed", documents, address)
	})
}
