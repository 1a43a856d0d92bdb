package feed

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind names a kind of failure; it is stored as last_error_kind.
type Kind string

// The kinds that this package gives.
const (
	KindEmpty     Kind = "empty"      // nothing but white space
	KindNotAFeed  Kind = "not-a-feed" // HTML, other XML, other JSON; the text has the page's title
	KindParse     Kind = "parse"      // a feed that cannot be read, not even in part
	KindTooLarge  Kind = "too-large"  // beyond the structure limits
	KindTruncated Kind = "truncated"  // cut off before the end of the first item
)

// Error says why a document gave nothing.
type Error struct {
	Kind Kind
	Text string // without control characters; at most 300 bytes
}

func (e *Error) Error() string { return e.Text }

const maxMessage = 300

func fail(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: message(format, args...)}
}

// message makes one line that is safe to print: what a feed put into it may hold anything.
func message(format string, args ...any) string {
	s := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(fmt.Sprintf(format, args...), ""))
	return clip(s, maxMessage)
}

// clip cuts s to at most n bytes, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
