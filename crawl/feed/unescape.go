package feed

import (
	"html"
	"strings"
	"unicode/utf8"
)

// unescape decodes the text of an XML element as gofeed does: references outside CDATA sections are decoded, those of HTML
// too, and what is none is left as it stands.
func unescape(b []byte) string {
	s := strings.TrimSpace(string(b))
	before, rest, ok := strings.Cut(s, "<![CDATA[")
	if !ok {
		return unescapeReferences(s)
	}
	if inner, rest, ok := strings.Cut(rest, "]]>"); ok && before == "" && rest == "" {
		return inner
	}
	var out strings.Builder
	out.Grow(len(s))
	for ok {
		out.WriteString(unescapeReferences(before))
		var inner string
		inner, s, _ = strings.Cut(rest, "]]>")
		out.WriteString(inner)
		before, rest, ok = strings.Cut(s, "<![CDATA[")
	}
	out.WriteString(unescapeReferences(before))
	return out.String()
}

// maxEntity is how long a reference may be, with its delimiters, in bytes; the longest of HTML has 33.
const maxEntity = 64

func unescapeReferences(s string) string {
	at := strings.IndexByte(s, '&')
	if at < 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	for ; at >= 0; at = strings.IndexByte(s, '&') {
		out.WriteString(s[:at])
		s = s[at:]
		end := strings.IndexByte(s[:min(len(s), maxEntity)], ';')
		if end < 0 && len(s) <= maxEntity {
			break
		}
		text, ok := "", false
		if end > 0 && strings.IndexByte(s[1:end], '&') < 0 {
			text, ok = entity(s[:end+1])
		}
		if !ok {
			out.WriteByte('&')
			s = s[1:]
			continue
		}
		out.WriteString(text)
		s = s[end+1:]
	}
	out.WriteString(s)
	return out.String()
}

// entity decodes one reference from & to ;.
func entity(s string) (text string, ok bool) {
	switch s {
	case "&lt;":
		return "<", true
	case "&gt;":
		return ">", true
	case "&amp;":
		return "&", true
	case "&quot;":
		return `"`, true
	case "&apos;":
		return "'", true
	}
	if strings.ContainsAny(s, " \t\r\n") {
		return "", false
	}
	if r, ok := reference([]byte(s)); ok && r < utf8.MaxRune && (r >= ' ' && r < 0x7f || r >= 0xa0 && utf8.ValidRune(r)) {
		return string(r), true
	}
	text = html.UnescapeString(s)
	return text, text != html.UnescapeString(s[:len(s)-1])+";" // else the name ended before the semicolon: &copy=2;
}
