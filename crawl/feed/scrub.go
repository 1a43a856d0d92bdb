package feed

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// scrub removes what XML 1.0 (section 2.2) does not allow: control characters, U+FFFE and U+FFFF. References to them become
// blanks. It gives b itself where there is nothing to do.
func scrub(b []byte, ascii bool) (clean []byte, changed bool) {
	if hasControls(b) || !ascii && hasNonCharacters(b) {
		b, changed = removeIllegal(b), true
	}
	at := illegalReference(b, 0)
	if at < 0 {
		return b, changed
	}
	out := make([]byte, 0, len(b))
	for ; at >= 0; at = illegalReference(b, 0) {
		out = append(append(out, b[:at]...), ' ')
		b = b[at+bytes.IndexByte(b[at:], ';')+1:]
	}
	return append(out, b...), true
}

func removeIllegal(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c < ' ' && c != '\t' && c != '\n' && c != '\r':
			i++
		case c == 0xef && nonCharacter(b[i:]):
			i += 3
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// hasControls looks at sixteen bytes at a time; line ends and tabs make it look closer.
func hasControls(b []byte) bool {
	const blanks, highs = 0x2020202020202020, 0x8080808080808080
	for len(b) >= 16 {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		if ((x-blanks)&^x|(y-blanks)&^y)&highs != 0 && anyControl(b[:16]) {
			return true
		}
		b = b[16:]
	}
	return anyControl(b)
}

func anyControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return true
		}
	}
	return false
}

func nonCharacter(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xef && b[1] == 0xbf && b[2] >= 0xbe
}

func hasNonCharacters(b []byte) bool {
	for {
		i := bytes.Index(b, []byte("\xef\xbf"))
		if i < 0 {
			return false
		}
		if b = b[i:]; nonCharacter(b) {
			return true
		}
		b = b[2:]
	}
}

// illegalReference finds the first numeric reference from i on that stands for a character that XML does not allow.
func illegalReference(b []byte, i int) int {
	for {
		k := bytes.Index(b[i:], []byte("&#"))
		if k < 0 {
			return -1
		}
		i += k
		if r, ok := reference(b[i:]); ok && !legal(r) {
			return i
		}
		i += 2
	}
}

// reference reads "&#…;" at the start of b.
func reference(b []byte) (r rune, ok bool) {
	if len(b) < 2 || b[1] != '#' {
		return 0, false
	}
	i, base := 2, rune(10)
	if i < len(b) && (b[i] == 'x' || b[i] == 'X') {
		i, base = 3, 16
	}
	first := i
	for ; i < len(b) && b[i] != ';'; i++ {
		d := hexDigit(b[i])
		if d < 0 || d >= base || r > utf8.MaxRune {
			return 0, false
		}
		r = r*base + d
	}
	return r, i < len(b) && i > first
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

func legal(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != 0xfffe && r != 0xffff
}
