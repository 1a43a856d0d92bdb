package feed

import (
	"context"
	"strings"
	"testing"
	"unicode"
)

func TestUnsafeCharactersInAddresses(t *testing.T) {
	for _, c := range []struct{ ref, want string }{
		{"http://x/\x1b[31m", "http://x/%1B[31m"},
		{"http://x/\x7f", "http://x/%7F"},
		{"http://x/\u009b31m", "http://x/%C2%9B31m"},
		{"http://x/a\u202egpj.exe", "http://x/a%E2%80%AEgpj.exe"},
		{"http://x/a\u2066b\u200bc\u200dd\ufeffe", "http://x/a%E2%81%A6b%E2%80%8Bc%E2%80%8Dd%EF%BB%BFe"},
		{"http://x/a\u2028b\u061cc\u00add", "http://x/a%E2%80%A8b%D8%9Cc%C2%ADd"},
		{"http://x/a b?\"<q>\"#<f>", "http://x/a%20b?%22%3Cq%3E%22#%3Cf%3E"},
		{"http://x/ä%20é?ü", "http://x/ä%20é?ü"},
		{"http://x\x1b[31m/", ""},
		{"http://x\u202e.example/", ""},
		{"http://a b/", ""},
		{"a\x1bb?\u202e\"#\u200b", "http://base/dir/a%1Bb?%E2%80%AE%22#%E2%80%8B"},
		{"//y\u202e/", ""},
		{"tag:x,2020:\u202ea\u009b", "tag:x,2020:%E2%80%AEa%C2%9B"},
		{"http://x/" + strings.Repeat("\u202e", maxURL/4), ""},
	} {
		if got := new(resolver).absolute("http://base/dir/x", c.ref); got != c.want {
			t.Errorf("%q: got %q, want %q", c.ref, got, c.want)
		}
	}
}

func TestUnsafeCharactersInItems(t *testing.T) {
	const bad = `http://x/\u001b[31m\u202e\u200b\u0085`
	body := `{"version":"https://jsonfeed.org/version/1.1","home_page_url":"` + bad + `","icon":"` + bad + `","items":[{"id":"` + bad +
		`","url":"` + bad + `","image":"` + bad + `","attachments":[{"url":"` + bad + `","mime_type":"a/b"}]}]}`
	f, err := Read(context.Background(), Document{Body: []byte(body), URL: "https://example.net/"})
	if err != nil || len(f.Items) != 1 || len(f.Items[0].Enclosures) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	it := f.Items[0]
	for _, s := range []string{f.SiteURL, f.ImageURL, it.URL, it.ImageURL, it.Enclosures[0].URL} {
		if s == "" || strings.IndexFunc(s, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }) >= 0 {
			t.Errorf("%q", s)
		}
	}
	if !strings.Contains(it.GUID, "\x1b") {
		t.Errorf("the guid is no longer what the source gave: %q", it.GUID)
	}
}

func TestResolverBounds(t *testing.T) {
	var r resolver
	base, total := "http://h/"+strings.Repeat("x", 8000)+"/", 0
	for range 5000 {
		total += len(r.resolve(base, "1"))
	}
	if total < maxAdded/2 || total > maxAdded+maxURL || !r.full() {
		t.Errorf("%d bytes of addresses", total)
	}
	if got := r.resolve(base, "http://y/absolute"); got != "http://y/absolute" {
		t.Errorf("an absolute address became %q", got)
	}
	r = resolver{}
	for range 20_000 {
		if r.resolve("https://www.example.net/blog/feed.xml", "/2026/11/an-article-with-a-name.html") == "" {
			t.Fatal("a usual feed of 20,000 items is beyond the limit")
		}
	}
	if a, b := r.resolve("http://a/x/", "1"), r.resolve("http://b/y/", "1"); a != "http://a/x/1" || b != "http://b/y/1" {
		t.Errorf("two bases gave %q and %q", a, b)
	}
}

func TestManyDetails(t *testing.T) {
	body := rssOf("<item>" + numbered(1500, "<enclosure url='http://h/%d'/>") + numbered(1500, "<category>c%d</category>") + "</item>")
	f, err := Read(context.Background(), Document{Body: []byte(body)})
	if err != nil || len(f.Items) != 1 {
		t.Fatal(f, err)
	}
	if n, m := len(f.Items[0].Enclosures), len(f.Items[0].Categories); n != maxDetails || m != maxDetails {
		t.Errorf("%d enclosures, %d categories", n, m)
	}
	if n := strings.Count(strings.Join(f.Warnings, "\n"), "enclosures or categories"); n != 1 {
		t.Errorf("warnings %q", f.Warnings)
	}
}
