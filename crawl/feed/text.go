package feed

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
)

// Limits of single fields, in bytes; longer text is cut.
const (
	maxTitle    = 4 << 10
	maxAuthor   = 1 << 10
	maxName     = 512 // a category, a language, a media type
	maxGUID     = 8 << 10
	maxURL      = 8 << 10
	maxDetails  = 1000 // categories or enclosures of one item
	maxNames    = 100  // authors of one item
	maxWarnings = 20
)

// mode says how the text of a title is to be read.
type mode uint8

const (
	guess  mode = iota // RSS: most write HTML, some plain text
	plain              // taken literally
	markup             // HTML
)

// plainText makes one line of text: tags removed, entities decoded, white space collapsed.
func plainText(s string, m mode, limit int) string {
	if m != plain && strings.ContainsAny(s, "<&") {
		s = clip(s, maxMarkup)
		if strings.Contains(s, "<") && (m == markup || hasHTML(s)) {
			s = removeTags(s)
		} else {
			s = html.UnescapeString(s)
		}
	}
	return clip(collapse(s), limit)
}

const maxMarkup = 64 << 10 // bytes of HTML that are looked at for a line of text

// hasHTML reports whether a text holds a tag of HTML. List<String> is none, nor is <a@example.org>.
func hasHTML(s string) bool {
	for {
		_, rest, ok := strings.Cut(s, "<")
		if !ok {
			return false
		}
		s = rest
		name := strings.TrimPrefix(s, "/")
		end := 0
		for end < len(name) && nameByte[name[end]] {
			end++
		}
		if strings.HasPrefix(s, "!") || end < len(name) && strings.IndexByte(" \t\r\n/>", name[end]) >= 0 && htmlNames[strings.ToLower(name[:end])] {
			return true
		}
	}
}

// removeTags leaves the text; a '<' that opens no tag is text.
func removeTags(s string) string {
	var out strings.Builder
	z := nethtml.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return out.String()
		case nethtml.TextToken:
			out.WriteString(html.UnescapeString(string(z.Raw())))
		case nethtml.CommentToken:
			if raw := string(z.Raw()); strings.HasPrefix(raw, "<![CDATA[") {
				out.WriteString(strings.TrimSuffix(raw[9:], "]]>"))
			}
		}
	}
}

// collapse trims s and makes one space of each run of white space and ASCII control characters; soft hyphens and byte order
// marks go.
func collapse(s string) string {
	if tidy(s) {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	gap := false
	for _, r := range s {
		switch {
		case r == '\u00ad' || r == '\ufeff':
		case unicode.IsSpace(r) || r < ' ' || r == 0x7f:
			gap = out.Len() > 0
		default:
			if gap {
				out.WriteByte(' ')
				gap = false
			}
			out.WriteRune(r)
		}
	}
	return out.String()
}

// tidy reports whether collapse would change nothing, as far as a glance at the bytes can tell.
func tidy(s string) bool {
	last := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}

// clean makes text storable as it came: valid UTF-8 without NUL.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}
