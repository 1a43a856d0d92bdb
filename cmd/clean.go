package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Feeds are written by strangers. What they say reaches a table, a message, JSON, CSV or XML only through this file.

// unseen says that a character has no visible form of its own and could deceive or steer a terminal: C1 and other controls, bidi
// and other format controls, zero-width characters, fillers, line and paragraph separators.
func unseen(r rune) bool {
	if r < 0x7f {
		return r < 0x20
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// clean makes text fit for one cell of a table or one line of a message.
func clean(s string) string {
	if isPlain(s) {
		return strings.TrimSpace(s)
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unseen(r):
			return -1
		}
		return r // the U+FFFD that stands for a wrong byte included
	}, s))
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// carried drops the characters that XML 1.0 cannot carry (section 2.2, Char) or discourages, and that CSV readers stumble over.
func carried(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case unicode.IsControl(r), r == 0xfffe, r == 0xffff:
			return -1
		}
		return r
	}, s)
}

// jsonWriter escapes, in the JSON that passes through it, the characters that must not reach a terminal raw and that
// encoding/json leaves as they are. They can only stand within strings. A write must not end within a character.
type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(b []byte) (int, error) {
	if _, err := j.w.Write(escapeJSON(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func escapeJSON(b []byte) []byte {
	var out []byte // nil until something must change
	kept := 0
	for i := 0; i < len(b); {
		if b[i] < 0x7f {
			i++
			continue
		}
		r, width := utf8.DecodeRune(b[i:])
		if unseen(r) {
			out = append(out, b[kept:i]...)
			if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
			kept = i + width
		}
		i += width
	}
	if out == nil {
		return b
	}
	return append(out, b[kept:]...)
}
