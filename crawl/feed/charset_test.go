package feed

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

func encoded(t *testing.T, e encoding.Encoding, s string) []byte {
	t.Helper()
	b, err := e.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// In order of precedence: what the bytes show, the HTTP header, the XML declaration, windows-1252.
func TestCharsets(t *testing.T) {
	feed := func(declared, title string) string {
		if declared != "" {
			declared = `<?xml version="1.0" encoding="` + declared + `"?>`
		}
		return declared + rssOf("<item><title>"+title+"</title></item>")
	}
	utf16le, utf16be := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	for _, c := range []struct {
		name        string
		body        []byte
		contentType string
		want        string
	}{
		{"plain UTF-8", []byte(feed("", "Müller")), "", "Müller"},
		{"a mark beats both declarations", append([]byte("\xef\xbb\xbf"), feed("koi8-r", "Müller")...), "text/xml; charset=koi8-r", "Müller"},
		{"valid UTF-8 beats both declarations", []byte(feed("iso-8859-1", "Müller")), "text/xml; charset=iso-8859-1", "Müller"},
		{"valid UTF-8 that is cut within a character", []byte(strings.Replace(feed("iso-8859-1", "Müller"), "</channel></rss>", "<item>\xc3", 1)), "", "Müller"},
		{"the header beats the XML declaration", encoded(t, charmap.KOI8R, feed("windows-1251", "Привет")), `text/xml; charset="koi8-r"`, "Привет"},
		{"a header that cannot be parsed", encoded(t, charmap.KOI8R, feed("", "Привет")), "text/xml; charset=koi8-r; =;", "Привет"},
		{"the XML declaration", encoded(t, charmap.Windows1251, feed("windows-1251", "Привет")), "text/xml", "Привет"},
		{"a declaration in single quotes", encoded(t, charmap.Windows1251, strings.ReplaceAll(feed("windows-1251", "Привет"), `"`, `'`)), "", "Привет"},
		{"a header that says UTF-8 and is wrong", encoded(t, charmap.Windows1251, feed("windows-1251", "Привет")), "text/xml; charset=utf-8", "Привет"},
		{"a header of an unknown name", encoded(t, charmap.Windows1251, feed("windows-1251", "Привет")), "text/xml; charset=nonsense", "Привет"},
		{"both say UTF-8 and are wrong", []byte(feed("utf-8", "M\xfcller \x80 und Größe")), "text/xml; charset=utf-8", "Müller € und Größe"},
		{"nothing is declared", []byte(feed("", "M\xfcller \x93x\x94")), "", "Müller “x”"},
		{"says UTF-16, is not", []byte(feed("utf-16", "Miller")), "text/xml; charset=utf-16", "Miller"},
		{"an underscore for a hyphen", encoded(t, charmap.Windows1251, feed("windows_1251", "Привет")), "", "Привет"},
		{"Shift JIS", encoded(t, japanese.ShiftJIS, feed("Shift_JIS", "日本語")), "", "日本語"},
		{"EUC-JP", encoded(t, japanese.EUCJP, feed("euc-jp", "日本語")), "", "日本語"},
		{"ISO-2022-JP, all of it ASCII", encoded(t, japanese.ISO2022JP, feed("iso-2022-jp", "日本語")), "", "日本語"},
		{"GB 18030", encoded(t, simplifiedchinese.GB18030, feed("gb2312", "中文")), "", "中文"},
		{"UTF-16 with mark", append([]byte("\xff\xfe"), encoded(t, utf16le, feed("utf-16", "日本語"))...), "", "日本語"},
		{"UTF-16, big-endian, with mark, other header", append([]byte("\xfe\xff"), encoded(t, utf16be, feed("utf-16", "日本語"))...), "text/xml; charset=utf-8", "日本語"},
		{"UTF-16 without mark", encoded(t, utf16le, feed("utf-16", "日本語")), "", "日本語"},
		{"UTF-16, big-endian, without mark", encoded(t, utf16be, feed("", "日本語")), "", "日本語"},
		{"UTF-32", encoded(t, utf32.UTF32(utf32.BigEndian, utf32.UseBOM), feed("", "日本語")), "", "日本語"},
		{"EBCDIC", encoded(t, charmap.CodePage037, feed("cp037", "Muller")), "", "Muller"},
	} {
		f, err := Read(t.Context(), Document{Body: c.body, ContentType: c.contentType, URL: "https://example.net/"})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := f.Items[0].Title; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBodyIsNotWrittenTo(t *testing.T) {
	for _, body := range []string{
		atomOf("<entry xml:base='/x'><title type='html'>a</title></entry>"), "<rss xmlns='http://example.org/'><channel><item><title>a\x01</title></item></channel></rss>",
		rssOf("<item><title>a</titel></item>"), `{"version":"https://jsonfeed.org/version/1","items":[{"id":1,"title":2}]}`,
	} {
		b := []byte(body)
		if _, err := Read(t.Context(), Document{Body: b}); err != nil || !bytes.Equal(b, []byte(body)) {
			t.Errorf("%v; body is now %q", err, b)
		}
	}
}
