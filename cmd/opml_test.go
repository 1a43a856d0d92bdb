package cmd

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestReadOPML(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     []outline // line is not compared
	}{
		{"flat", `<opml><body><outline text="A" xmlUrl="http://a.example/"/></body></opml>`,
			[]outline{{title: "A", url: "http://a.example/"}}},
		{"folder", `<opml><body><outline text="F"><outline title="A" text="x" xmlUrl="u" htmlUrl="s"/></outline><outline xmlUrl="v"/></body></opml>`,
			[]outline{{title: "A", url: "u", siteURL: "s", category: "F"}, {url: "v"}}},
		{"nested folders", `<opml><body><outline text="F"><outline text="G"><outline xmlUrl="u"/></outline><outline xmlUrl="v"/></outline></body></opml>`,
			[]outline{{url: "u", category: "F / G"}, {url: "v", category: "F"}}},
		{"folder without a name", `<opml><body><outline><outline text="G"><outline xmlUrl="u"/></outline></outline></body></opml>`,
			[]outline{{url: "u", category: "G"}}},
		{"line without xmlUrl", `<opml><body><outline text="A" type="rss"/><outline text="F"><outline text="B" type="RSS"/></outline></body></opml>`,
			[]outline{{title: "A"}, {title: "B", category: "F"}}},
		{"line with another URL", `<opml><body><outline text="A" htmlUrl="s"/><outline text="B" url="x"/><outline text="C" type="link"/></body></opml>`,
			[]outline{{title: "A", siteURL: "s"}, {title: "B"}, {title: "C"}}},
		{"empty folders", `<opml><body><outline text="E"/><outline/><outline text="F" type="Folder"></outline>` +
			`<outline text="G"><outline text="H"/></outline><outline text="A" xmlUrl="u"/></body></opml>`, []outline{{title: "A", url: "u"}}},
		{"feed with lines in it", `<opml><body><outline text="A" xmlUrl="u"><outline xmlUrl="v"/></outline></body></opml>`,
			[]outline{{title: "A", url: "u"}, {url: "v"}}},
		{"upper case", `<OPML><BODY><OUTLINE TEXT="A" XMLURL="u"/></BODY></OPML>`, []outline{{title: "A", url: "u"}}},
		{"stray ampersand", `<opml><body><outline text="A & B" xmlUrl="http://a.example/?x=1&y=2"/></body></opml>`,
			[]outline{{title: "A & B", url: "http://a.example/?x=1&y=2"}}},
		{"entities", `<opml><body><outline text="&eacute;&#233;&lt;" xmlUrl="u"/></body></opml>`, []outline{{title: "éé<", url: "u"}}},
		{"DOCTYPE", `<!DOCTYPE opml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><opml><body><outline text="&b;" xmlUrl="u"/></body></opml>`,
			[]outline{{title: "&b;", url: "u"}}},
		{"byte order mark", "\xef\xbb\xbf<opml><body><outline text=\"é\" xmlUrl=\"u\"/></body></opml>", []outline{{title: "é", url: "u"}}},
		{"Latin-1", "<?xml version='1.0' encoding='iso-8859-1'?><opml><body><outline text=\"\xe9\" xmlUrl=\"u\"/></body></opml>", []outline{{title: "é", url: "u"}}},
		{"UTF-16", utf16le("\ufeff<?xml version='1.0' encoding='utf-16'?><opml><body><outline text='é' xmlUrl='u'/></body></opml>"), []outline{{title: "é", url: "u"}}},
		{"UTF-16 without a mark", utf16le("<?xml version='1.0' encoding='utf-16'?><opml><body><outline text='é' xmlUrl='u'/></body></opml>"), []outline{{title: "é", url: "u"}}},
		{"says UTF-16, is not", "<?xml version='1.0' encoding='utf-16'?><opml><body><outline text='é' xmlUrl='u'/></body></opml>", []outline{{title: "é", url: "u"}}},
		{"control characters", "<opml><body><outline text=\"a\x0bb\x1b[m&#x202e;\" xmlUrl=\" u\n\"/></body></opml>", []outline{{title: "ab[m", url: "u"}}},
		{"wrong bytes", "<opml><body><outline text=\"a\xffb\" xmlUrl=\"u\"/></body></opml>", []outline{{title: "a�b", url: "u"}}},
		{"references to control characters", `<opml><body><outline text="a&#27;b&#x1B;&#0;" xmlUrl="u&#8;"/></body></opml>`, []outline{{title: "ab", url: "u"}}},
		{"empty", `<opml version="2.0"><head/><body></body></opml>`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readOPML(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].line = 0
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("read %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func utf16le(s string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

func TestRefusedOPML(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", "not OPML"},
		{"text", "http://a.example/\nhttp://b.example/\n", "not OPML"},
		{"HTML", "<!DOCTYPE html><html><body><p>not found</body></html>", "root element is <html>"},
		{"a feed", `<rss version="2.0"><channel/></rss>`, "root element is <rss>"},
		{"cut off", `<opml><body><outline text="A" xmlUrl="u"/><outline te`, "not XML"},
		{"cut off between elements", `<opml><body><outline text="A" xmlUrl="u"/>`, "not XML"},
		{"deep", "<opml><body>" + strings.Repeat("<outline text='x'>", 200), "deeper"},
		{"large", "<opml><!--" + strings.Repeat(" ", opmlMaxBytes) + "--></opml>", "larger than 32MiB"},
		{"unknown character set", `<?xml version="1.0" encoding="klingon"?><opml/>`, `unknown character set "klingon"`},
	} {
		if _, err := readOPML(strings.NewReader(test.in)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestOutlineLines(t *testing.T) {
	got, err := readOPML(strings.NewReader("<opml>\n<body>\n<outline xmlUrl='a'/>\n\n<outline xmlUrl='b'/>\n</body></opml>"))
	if err != nil || len(got) != 2 || got[0].line != 3 || got[1].line != 5 {
		t.Errorf("read %+v, %v", got, err)
	}
}

// Deep folders with long names do not multiply: a file of some megabytes must not become gigabytes.
func TestLongFolders(t *testing.T) {
	deep := strings.Repeat(`<outline text="`+strings.Repeat("x", 5000)+`">`, 90)
	got, err := readOPML(strings.NewReader("<opml><body>" + deep + strings.Repeat("<outline xmlUrl='u'/>", 1000) +
		strings.Repeat("</outline>", 90) + "</body></opml>"))
	if err != nil || len(got) != 1000 || len(got[0].category) != opmlMaxPath {
		t.Errorf("%d lines, error %v", len(got), err)
	}
}

// What is exported comes back the same, whatever categories and titles hold.
func TestOPMLRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		want := randomOutlines(random)
		var file bytes.Buffer
		if err := writeOPML(&file, want); err != nil {
			t.Fatal(err)
		}
		got, err := readOPML(&file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i].line = 0
			got[i].title = titleOf(got[i])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("exported %+v\ncame back %+v", want, got)
		}
	}
}

// randomOutlines are feeds as the database could hold them: sorted by category, names clean.
func randomOutlines(r *rand.Rand) []outline {
	words := []string{"A", "b&<\"'>", "é漢", "/", " / ", "x / y", "//", "]]>", "&amp;", "…", "\u00a0", " ", "-->"}
	text := func() string {
		var b strings.Builder
		for range r.IntN(5) {
			b.WriteString(words[r.IntN(len(words))])
		}
		return clean(b.String())
	}
	var list []outline
	for n := range r.IntN(8) {
		list = append(list, outline{title: text(), category: text(), siteURL: "https://s.example/" + fmt.Sprint(n), url: fmt.Sprintf("https://h.example/%d?a=1&b=%d", n, n)})
	}
	slices.SortStableFunc(list, func(a, b outline) int { return cmp.Compare(a.category, b.category) })
	return list
}

// Whatever the bytes, reading ends without panic and within the limits, and what was read can be written and read again.
func FuzzOPML(f *testing.F) {
	f.Add([]byte(`<opml><body><outline text="F"><outline text="A" xmlUrl="u"/></outline></body></opml>`))
	f.Add([]byte("<?xml version='1.0' encoding='iso-8859-1'?><!DOCTYPE opml><opml><outline text=\"\xe9&#0;\" xmlurl=u></opml>"))
	f.Add([]byte(utf16le("\ufeff<opml><outline a:xmlUrl='u'></outline></opml>")))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := readOPML(bytes.NewReader(in))
		if err != nil {
			return
		}
		var file bytes.Buffer
		if err := writeOPML(&file, got); err != nil {
			t.Fatal(err)
		}
		again, err := readOPML(&file)
		if err != nil || len(again) != len(got) {
			t.Fatalf("%d lines came back as %d, error %v", len(got), len(again), err)
		}
	})
}
