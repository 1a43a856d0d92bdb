package cmd

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// hostile is what a feed might put into a title.
const hostile = "a\x1b[31mb\u009b2Jc\u202ed\u2066e\u200bf\ufeffg\u00adh\u2028i\x00j\U000e0041k\u061cl\u3164m\xffn\x7fo\tp\nq"

func TestClean(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"plain text", "plain text"},
		{" padded ", "padded"},
		{"Übergrößen 漢字 ελ עברית", "Übergrößen 漢字 ελ עברית"},
		{"two\nlines\tand a tab", "two lines and a tab"},
		{"\x1b]0;title\x07", "]0;title"},
		{"C1 \u009b2J", "C1 2J"},
		{"bidi \u202eevil\u202c", "bidi evil"},
		{"zero\u200b\u200d\u2060\ufeffwidth", "zerowidth"},
		{"filler\u3164\u115f", "filler"},
		{"line\u2028separator\u2029", "line separator"},
		{"tag \U000e0041", "tag"},
		{"wrong \xff byte", "wrong � byte"},
		{hostile, "a[31mb2Jcdefgh ijklm�no p q"},
	} {
		if got := clean(test.in); got != test.want {
			t.Errorf("clean(%+q) = %+q, want %+q", test.in, got, test.want)
		}
	}
}

func TestCarried(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"two\r\n\tlines", "two\r\n\tlines"},
		{"a\x00b\x0bc\u009bd\x7fe\ufffef", "abcdef"},
		{"Übergröße \u202e", "Übergröße \u202e"},
	} {
		if got := carried(test.in); got != test.want {
			t.Errorf("carried(%+q) = %+q, want %+q", test.in, got, test.want)
		}
	}
}

// JSON carries every character, but none raw that could steer a terminal.
func TestJSONEscapes(t *testing.T) {
	var b strings.Builder
	in := strings.ToValidUTF8(hostile, "\ufffd")
	if err := newJSON(&b).Encode(map[string]string{"title": in}); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSuffix(b.String(), "\n") {
		if unseen(r) || unicode.IsControl(r) {
			t.Errorf("%U is raw in %+q", r, b.String())
		}
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil {
		t.Fatal(err)
	}
	if out["title"] != in {
		t.Errorf("came back as %+q, want %+q", out["title"], in)
	}
}

func TestTable(t *testing.T) {
	table := newTable("ID", "TITLE", "URL")
	table.add("1", "漢字", "http://a.example/")
	table.add("22", "x\x1by", "http://b.example/\n")
	for _, test := range []struct {
		widest int
		want   string
	}{
		{0, "ID  TITLE  URL\n1   漢字   http://a.example/\n22  xy     http://b.example/\n"},
		{14, "ID  TITLE  URL\n1   漢字   ht…\n22  xy     ht…\n"},
	} {
		var b strings.Builder
		if err := table.write(&b, test.widest); err != nil {
			t.Fatal(err)
		}
		if b.String() != test.want {
			t.Errorf("at width %d:\n%s\nwant:\n%s", test.widest, b.String(), test.want)
		}
	}
}
