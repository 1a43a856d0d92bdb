package feed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// sample reads a file of testdata as if it had come from example.net.
func sample(t testing.TB, name string) Document {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return Document{Body: b, URL: "https://example.net/feeds/" + name}
}

func mustRead(t testing.TB, d Document) *Feed {
	t.Helper()
	f, err := Read(context.Background(), d)
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Body)
	}
	return f
}

// readText reads a document that was fetched from https://example.net/feed.
func readText(t testing.TB, body string) *Feed {
	t.Helper()
	return mustRead(t, Document{Body: []byte(body), URL: "https://example.net/feed"})
}

func utc(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

// sampleFeeds is what each file of testdata says.
var sampleFeeds = []struct {
	file string
	want Feed
}{
	{"rss.xml", Feed{
		Type: "rss", Title: "Field & Stream", SiteURL: "https://field.example/", ImageURL: "https://field.example/logo.png", Language: "en", Count: 3,
		Hints: Hints{Interval: 2 * time.Hour, SkipHours: []int{0, 23}, SkipDays: []time.Weekday{time.Sunday}},
		Items: []Item{
			{
				Key: "f-3", GUID: "f-3", URL: "https://field.example/2026/rivers", Title: "Rivers — a list & a map", Author: "Ann Bell",
				Summary: "<p>Short, with <item> and </item> in it.</p>", Content: `<p>Long <a href="/x">text</a> & more</p>`,
				CommentsURL: "https://field.example/2026/rivers#comments", Categories: []string{"Water"}, PublishedAt: utc("2026-11-30T08:00:00Z"),
			},
			{
				Key: "https://field.example/2026/episode", GUID: "https://field.example/2026/episode", URL: "https://field.example/2026/episode",
				Title: "An episode", Summary: "Listen <b>now</b>", ImageURL: "https://field.example/e1.jpg", Duration: 3723, PublishedAt: utc("2026-11-29T09:00:00Z"),
				Enclosures: []Enclosure{{"https://field.example/e1.mp3", "audio/mpeg", 1234}, {"https://field.example/e1.ogg", "audio/ogg", 99}},
			},
			{Key: "https://field.example/3", URL: "https://field.example/3", Title: "Café “third”", Summary: "ünïcödé"},
		},
	}},
	{"atom.xml", Feed{
		Type: "atom", Title: "Atoms & bits", SiteURL: "https://atom.example/blog/", Language: "en", Count: 3,
		Items: []Item{
			{
				Key: "tag:atom.example,2026:a b|c", GUID: "tag:atom.example,2026:a b|c", URL: "https://atom.example/blog/one.html",
				Title: "Plain: 1 < 2 & <b>", Author: "Team Atom", Summary: "A & B", Content: `<p>Hi <entry><title>nested</title></entry> &amp; bye</p><p>2</p>`,
				CommentsURL: "https://atom.example/blog/one.html#comments", Categories: []string{"Ex"},
				PublishedAt: utc("2026-11-29T09:00:00Z"), UpdatedAt: utc("2026-11-30T09:00:00Z"),
				Enclosures: []Enclosure{{"https://atom.example/blog/one.ogg", "audio/ogg", 77}},
			},
			{
				Key: "tag:atom.example,2026:2", GUID: "tag:atom.example,2026:2", URL: "https://atom.example/other/two.html",
				Title: "Bits < bytes", Author: "Bo, cy@atom.example", Content: "<p>two</p>", UpdatedAt: utc("2026-11-28T09:00:00Z"),
			},
			{
				Key: "tag:atom.example,2026:3", GUID: "tag:atom.example,2026:3", URL: "https://elsewhere.example/3",
				Title: "Three & <four>", Author: "Origin", Summary: "three", UpdatedAt: utc("2026-11-27T09:00:00Z"), Duration: 9,
				ImageURL: "https://atom.example/blog/3.jpg", Enclosures: []Enclosure{{"https://elsewhere.example/3.mp4", "video/mp4", 0}},
			},
		},
	}},
	{"rdf.xml", Feed{
		Type: "rdf", Title: "RDF", SiteURL: "https://rdf.example/", ImageURL: "https://rdf.example/i.png", Count: 2,
		Items: []Item{
			{
				Key: "https://rdf.example/?id=1&x=y", GUID: "https://rdf.example/?id=1&x=y", URL: "https://rdf.example/1", Title: "First", Author: "Di",
				Summary: "one", Categories: []string{"news"}, PublishedAt: utc("2026-11-29T08:00:00Z"),
			},
			{Key: "https://rdf.example/?id=2", GUID: "https://rdf.example/?id=2", URL: "https://rdf.example/2", Title: "Second", Summary: "two"},
		},
	}},
	{"feed.json", Feed{
		Type: "json", Title: "JSON & <friends>", SiteURL: "https://json.example/", Language: "de", Count: 3,
		Items: []Item{
			{
				Key: "7", GUID: "7", URL: "https://example.net/7", Title: `A < B "quoted" \`, Author: "Ed", Content: "<p>{not [a] brace}</p>",
				Categories: []string{"x", "y"}, PublishedAt: utc("2026-11-29T10:00:00Z"), UpdatedAt: utc("2026-11-30T10:00:00Z"), Duration: 61,
				Enclosures: []Enclosure{{"https://json.example/7.mp3", "audio/mpeg", 12}},
			},
			{
				Key: "https://json.example/6", GUID: "https://json.example/6", URL: "https://elsewhere.example/", Author: "Team JSON",
				Content: "Text é", Summary: "s", ImageURL: "https://example.net/6.png",
			},
			{Key: "5", GUID: "5", URL: "https://json.example/5", Title: "Last", Author: "Team JSON", Content: `<p>long "text" é \ {[,]} ` + strings.Repeat("and on ", 20) + "</p>"},
		},
	}},
	{"koi8.xml", Feed{
		Type: "rss", Title: "Новости", SiteURL: "https://koi.example/", Count: 2,
		Items: []Item{
			{Key: "https://koi.example/1", URL: "https://koi.example/1", Title: "Первая новость", Summary: "Текст <b>первый</b>"},
			{Key: "два", GUID: "два", URL: "https://koi.example/2", Title: "Вторая новость", Author: "Иван"},
		},
	}},
}

func TestEveryField(t *testing.T) {
	for _, c := range sampleFeeds {
		got := mustRead(t, sample(t, c.file))
		want := c.want
		want.Rule, want.Whole, want.Memory = 1, true, got.Memory
		for i := range want.Items {
			want.Keys = append(want.Keys, want.Items[i].Key)
			want.Items[i].Hash = want.Items[i].hash()
		}
		for i := range got.Items {
			if i < len(want.Items) && !reflect.DeepEqual(got.Items[i], want.Items[i]) {
				t.Errorf("%s, item %d:\ngot  %+v\nwant %+v", c.file, i, got.Items[i], want.Items[i])
			}
		}
		if got.Items = want.Items; !reflect.DeepEqual(got, &want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.file, got, &want)
		}
	}
}

func rssOf(items string) string {
	return `<rss version="2.0"><channel><title>T</title>` + items + `</channel></rss>`
}

func atomOf(entries string) string {
	return `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>` + entries + `</feed>`
}

func TestWhatIsNoFeed(t *testing.T) {
	for _, c := range []struct {
		body string
		kind Kind
		text string
	}{
		{"", KindEmpty, "empty"},
		{" \r\n\t\ufeff", KindEmpty, "empty"},
		{"\xef\xbb\xbf", KindEmpty, "empty"},
		{"<!DOCTYPE html><html><head><title>Please log\n in &amp; pay</title></head><body><rss/></body></html>", KindNotAFeed, `an HTML page: "Please log in & pay"`},
		{"<html><body>no title, and a <feed> in it</body></html>", KindNotAFeed, "an HTML page"},
		{"<?xml version='1.0'?><opml version='2.0'><body/></opml>", KindNotAFeed, "<opml>"},
		{"<sitemapindex/>", KindNotAFeed, "<sitemapindex>"},
		{"Not found", KindNotAFeed, "text"},
		{"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00<a\x00>", KindNotAFeed, "binary data"},
		{"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>", KindNotAFeed, "binary data"},
		{"\xff\xfeN\x00o\x00", KindNotAFeed, "text"},
		{"\n<html>\x00</html>", KindNotAFeed, "an HTML page"},
		{`{"error":"over quota"}`, KindNotAFeed, "JSON"},
		{`{"items":[{"id":"1"}]}`, KindNotAFeed, "JSON"},
		{`[{"id":"1"}]`, KindNotAFeed, "JSON array"},
		{`{`, KindNotAFeed, "JSON"},
		{`<feed xmlns="http://example.org/other"><entry/></feed>`, KindNotAFeed, "http://example.org/other"},
		{"<rss", KindTruncated, "cut off"},
		{"<rss><channel><title>x", KindTruncated, "cut off"},
		{"<rss><channel><item><title>x</title>", KindTruncated, "cut off"},
		{`{"version":"https://jsonfeed.org/version/1","items":[{"id":`, KindTruncated, "cut off"},
	} {
		_, err := Read(context.Background(), Document{Body: []byte(c.body), URL: "https://example.net/"})
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(e.Text, c.text) {
			t.Errorf("%q: got %v, want %s with %q", c.body, err, c.kind, c.text)
		}
	}
}

func TestFeedWithoutItems(t *testing.T) {
	for _, body := range []string{
		"<rss><channel><title>T</title></channel></rss>", "<rss/>", "<rss></rss>", `<feed xmlns="http://www.w3.org/2005/Atom"/>`, atomOf(""),
		`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"></rdf:RDF>`, `{"version":"https://jsonfeed.org/version/1.1","items":[]}`,
		`{"version":"https://jsonfeed.org/version/1.1","title":"T"}`,
	} {
		if f := readText(t, body); len(f.Items) != 0 || f.Count != 0 || f.Partial || f.Rule == 0 || len(f.Memory) == 0 {
			t.Errorf("%s: got %+v", body, f)
		}
	}
}

func TestErrorTextIsSafe(t *testing.T) {
	_, err := Read(context.Background(), Document{Body: []byte("<html><title>\x1b[31m\u202e" + strings.Repeat("ä", 2000) + "</title>")})
	if text := err.Error(); len(text) > 300 || strings.ContainsAny(text, "\x1b\u202e") || !utf8.ValidString(text) {
		t.Errorf("got %q", text)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, sample(t, "rss.xml")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Links are absolute and lead nowhere dangerous, whatever they are relative to.
func TestLinks(t *testing.T) {
	const base = "https://example.net/a/b?c"
	for _, c := range []struct{ ref, want string }{
		{"http://h/x", "http://h/x"}, {" https://h/x\n", "https://h/x"}, {"HTTP://h/x", "HTTP://h/x"}, {"//h/x", "https://h/x"}, {"x", "https://example.net/a/x"},
		{"/x", "https://example.net/x"}, {"?x", "https://example.net/a/b?x"}, {"#x", "https://example.net/a/b?c#x"}, {"../x", "https://example.net/x"},
		{"http://h/a b", "http://h/a%20b"}, {"http://h/ä", "http://h/ä"}, {"http://h/100%", "http://h/100%"}, {"/100%", "https://example.net/100%25"},
		{"http://h/a\nb", "http://h/ab"}, {"http://h:99999/", "http://h:99999/"},
		{"javascript:alert(1)", ""}, {" JavaScript:alert(1)", ""}, {"java\nscript:alert(1)", ""}, {"\x01javascript:alert(1)", ""}, {"data:text/html,x", ""},
		{"vbscript:x", ""}, {"file:///etc/passwd", ""}, {"view-source:javascript:x", ""}, {"http:", ""}, {"http://", ""}, {"http:///x", ""}, {"https://:80/", ""}, {"", ""},
		{"tag:h,2026:1", "tag:h,2026:1"}, {"magnet:?xt=urn:x", "magnet:?xt=urn:x"}, {"http://h/" + strings.Repeat("x", maxURL), ""},
	} {
		if got := new(resolver).absolute(base, c.ref); got != c.want {
			t.Errorf("%q: got %q, want %q", c.ref, got, c.want)
		}
	}
	if got := new(resolver).resolve(base, "magnet:?xt=urn:x"); got != "" {
		t.Errorf("an image at %q", got)
	}
	f := readText(t, atomOf(`<entry xml:base="javascript:alert(1)//"><id>1</id><title>x</title><link href="y"/></entry>`))
	if got := f.Items[0].URL; got != "https://example.net/y" {
		t.Errorf("a base that runs something: got %q", got)
	}
}

func TestBases(t *testing.T) {
	f := readText(t, `<rss xml:base="http://root/"><item><link>a</link></item><channel xml:base="chan/"><link>http://link/</link><item><link>b</link></item>`+
		`<item xml:base="item/"><link>c</link><enclosure url="d"/></item><item><link xml:base="/own/">e</link><comments>f</comments></item></channel></rss>`)
	var got []string
	for _, it := range f.Items {
		got = append(got, it.URL, it.CommentsURL)
		for _, e := range it.Enclosures {
			got = append(got, e.URL)
		}
	}
	if want := "http://root/a  http://root/chan/b  http://root/chan/item/c  http://root/chan/item/d http://root/own/e http://root/chan/f"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", strings.Join(got, " "), want)
	}
	f = readText(t, rssOf("<link>http://link/x</link><item><link>y</link></item>"))
	if got := f.Items[0].URL; got != "http://link/y" {
		t.Errorf("relative to the channel's link: got %q", got)
	}
}

func TestLinkOfAnItem(t *testing.T) {
	for _, c := range []struct{ item, want string }{
		{"<link>https://h/1</link><guid>https://h/2</guid>", "https://h/1"},
		{"<guid>https://h/2</guid>", "https://h/2"},
		{"<guid isPermaLink='true'>https://h/2</guid>", "https://h/2"},
		{"<guid isPermaLink='false'>https://h/2</guid>", ""},
		{"<guid>2</guid>", ""},
		{"<link>javascript:alert(1)</link><guid>https://h/2</guid>", ""},
		{"<link/><link>https://h/3</link>", "https://h/3"},
		{"<link href='https://h/4'/>", "https://h/4"},
		{"<a:link xmlns:a='http://www.w3.org/2005/Atom' rel='alternate' href='https://h/5'/>", "https://h/5"},
	} {
		if f := readText(t, rssOf("<item>"+c.item+"</item>")); f.Items[0].URL != c.want {
			t.Errorf("%s: got %q, want %q", c.item, f.Items[0].URL, c.want)
		}
	}
}

func TestTitles(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{rssOf("<item><title>A &lt;b&gt;bold&lt;/b&gt; one</title></item>"), "A bold one"},
		{rssOf("<item><title><![CDATA[Q&amp;A <i>now</i>]]></title></item>"), "Q&A now"},
		{rssOf("<item><title>1 &lt; 2 &gt; 0</title></item>"), "1 < 2 > 0"},
		{rssOf("<item><title>List&lt;String&gt; &amp;amp; more</title></item>"), "List<String> & more"},
		{rssOf("<item><title>a\n\t b\u00a0 c\u00ad</title></item>"), "a b c"},
		{rssOf("<item><title>&nbsp;&eacute;&#233;&unknown;</title></item>"), "éé&unknown;"},
		{rssOf("<item><title>AT&T</title></item>"), "AT&T"},
		{atomOf("<entry><title>&lt;b&gt; &amp;amp; c</title></entry>"), "<b> &amp; c"},
		{atomOf("<entry><title type='text'>&lt;b&gt;</title></entry>"), "<b>"},
		{atomOf("<entry><title type='html'>&lt;b&gt;x&lt;/b&gt; &amp;amp; c</title></entry>"), "x & c"},
		{atomOf("<entry><title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><b>x</b> &amp; c</div></title></entry>"), "x & c"},
		{atomOf("<entry><title type='text/html' mode='escaped'>&lt;b&gt;x&lt;/b&gt;</title></entry>"), "x"},
	} {
		if f := readText(t, c.body); f.Items[0].Title != c.want {
			t.Errorf("%s: got %q, want %q", c.body, f.Items[0].Title, c.want)
		}
	}
}

func TestAuthors(t *testing.T) {
	for _, c := range []struct{ item, want string }{
		{"<author>ann@example.org (Ann Bell)</author>", "Ann Bell"},
		{"<author>ann@example.org</author>", "ann@example.org"},
		{"<author><name>Ann</name><email>ann@example.org</email></author>", "Ann"},
		{"<author>Ann &lt;ann@example.org&gt;</author>", "Ann <ann@example.org>"},
		{"<author>Ann (the editor)</author>", "Ann (the editor)"},
		{"<author>&lt;b&gt;Ann&lt;/b&gt; &amp;amp; Bo</author>", "Ann & Bo"},
		{"<dc:creator xmlns:dc='http://purl.org/dc/elements/1.1/'>Ann</dc:creator><x:creator xmlns:x='http://purl.org/dc/elements/1.1/'>Bo</x:creator>", "Ann, Bo"},
		{"<i:author xmlns:i='http://www.itunes.com/DTDs/PodCast-1.0.dtd'>Ann</i:author>", "Ann"},
		{"<a:author xmlns:a='http://www.w3.org/2005/Atom'><a:name>Ann</a:name></a:author>", "Ann"},
	} {
		if f := readText(t, rssOf("<item>"+c.item+"</item>")); f.Items[0].Author != c.want {
			t.Errorf("%s: got %q, want %q", c.item, f.Items[0].Author, c.want)
		}
	}
}

func TestLeftoversOfAtom03(t *testing.T) {
	f := readText(t, `<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><id>1</id><title>t</title><author>Ann</author>`+
		`<created>2004-01-02T00:00:00Z</created><content type="text/html" mode="escaped">&lt;p&gt;x&lt;/p&gt;</content></entry></feed>`)
	if it := f.Items[0]; it.Author != "Ann" || it.PublishedAt != utc("2004-01-02T00:00:00Z") || it.Content != "<p>x</p>" {
		t.Errorf("got %+v", it)
	}
}

func TestFieldsAreBounded(t *testing.T) {
	long := strings.Repeat("x ä", 100_000)
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, "<category>c%d</category><enclosure url='https://h/%d'/>", i, i)
	}
	f := readText(t, rssOf("<item><guid>"+long+"</guid><title>"+long+"</title><author>"+long+"</author><link>https://h/"+long+"</link>"+many.String()+"</item>"))
	it := f.Items[0]
	if len(it.Title) > maxTitle || len(it.Author) > maxAuthor || len(it.Key) > maxKey || len(it.GUID) > maxGUID || it.URL != "" ||
		len(it.Categories) > maxDetails || len(it.Enclosures) > maxDetails {
		t.Errorf("got %d %d %d %d %d %d %d", len(it.Title), len(it.Author), len(it.Key), len(it.GUID), len(it.URL), len(it.Categories), len(it.Enclosures))
	}
}
