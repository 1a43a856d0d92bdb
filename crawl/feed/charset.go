package feed

import (
	"bytes"
	"encoding/binary"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// decode turns a body into UTF-8. What the bytes themselves show beats what is declared: a byte order mark, then
// characters beyond ASCII that are valid UTF-8, then the HTTP header (RFC 7303), then the XML declaration, and
// windows-1252 for the odd byte. ascii says that the text has no other characters; the warning, that a byte was guessed.
func decode(body []byte, contentType string) (text []byte, ascii bool, warning string) {
	if enc := byShape(body); enc != nil {
		return convert(enc, body), false, ""
	}
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	ascii, valid := survey(body)
	if valid && !(ascii && shifted(body)) {
		return body, ascii, ""
	}
	for _, label := range []string{headerCharset(contentType), declaredCharset(body)} {
		if enc := lookup(label); enc != nil {
			return convert(enc, body), false, ""
		}
	}
	if valid {
		return body, ascii, ""
	}
	return repairUTF8(body), false, "bytes that are no UTF-8 were read as windows-1252"
}

// byShape recognises the encodings of more than one byte a character, by their mark or by their first '<' or '{'.
func byShape(b []byte) encoding.Encoding {
	has := func(prefix string) bool { return bytes.HasPrefix(b, []byte(prefix)) }
	switch {
	case has("\xff\xfe\x00\x00"), has("<\x00\x00\x00"):
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case has("\x00\x00\xfe\xff"), has("\x00\x00\x00<"):
		return utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case has("\xff\xfe"), has("<\x00"), has("{\x00"):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case has("\xfe\xff"), has("\x00<"), has("\x00{"):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case has("\x4c\x6f\xa7\x94"): // "<?xm"
		return charmap.CodePage037
	}
	return nil
}

// survey says whether b is ASCII alone, and whether it is valid UTF-8; a character cut off by the end is no fault.
func survey(b []byte) (isASCII, valid bool) {
	const highs = 0x8080808080808080
	for len(b) >= 32 {
		x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) |
			binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if x&highs != 0 {
			break
		}
		b = b[32:]
	}
	ascii, tail := len(b) < 32, len(b)
	for n := 1; n <= 3 && n <= len(b); n++ {
		if c := b[len(b)-n]; c >= utf8.RuneSelf && utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				tail = len(b) - n
			}
			break
		}
	}
	valid = utf8.Valid(b[:tail])
	return ascii && valid && utf8.RuneCount(b) == len(b), valid
}

// shifted reports whether ASCII bytes could be an encoding that shifts by escapes (ISO-2022-JP).
func shifted(b []byte) bool { return bytes.IndexByte(b, 0x1b) >= 0 }

func headerCharset(contentType string) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return params["charset"]
	}
	_, label, _ := strings.Cut(strings.ToLower(contentType), "charset=")
	if i := strings.IndexAny(label, ";, "); i >= 0 {
		label = label[:i]
	}
	return strings.Trim(label, `"'`)
}

// declaredCharset reads the encoding of an XML declaration, leniently.
func declaredCharset(b []byte) string {
	b = b[:min(len(b), 2048)]
	start := bytes.Index(b, []byte("<?xml"))
	if start < 0 {
		return ""
	}
	b, _, _ = bytes.Cut(b[start:], []byte(">"))
	_, label, ok := bytes.Cut(b, []byte("encoding"))
	if !ok {
		return ""
	}
	label = bytes.TrimLeft(label, " \t\r\n=\"'")
	if i := bytes.IndexAny(label, " \t\r\n\"'?"); i >= 0 {
		label = label[:i]
	}
	return string(label)
}

// lookup finds an encoding whose units are bytes by its name; nil for UTF-8, which needs none or was disproved by the bytes,
// and for UTF-16 and UTF-32, which would have shown.
func lookup(label string) encoding.Encoding {
	if label == "" {
		return nil
	}
	enc, name := charset.Lookup(label)
	if enc == nil {
		enc, name = charset.Lookup(strings.ReplaceAll(label, "_", "-"))
	}
	if enc == nil {
		if enc, _ = ianaindex.IANA.Encoding(label); enc == nil {
			return nil
		}
		name, _ = ianaindex.IANA.Name(enc)
		name = strings.ToLower(name)
	}
	if name == "replacement" || strings.HasPrefix(name, "utf-") {
		return nil
	}
	return enc
}

// convert never fails: what cannot be decoded becomes U+FFFD.
func convert(enc encoding.Encoding, b []byte) []byte {
	out, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		return repairUTF8(b)
	}
	return bytes.TrimPrefix(out, []byte("\ufeff"))
}

// repairUTF8 keeps valid sequences and reads each other byte as windows-1252.
func repairUTF8(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			if !utf8.FullRune(b) && len(out) > 0 { // cut off by the end
				break
			}
			r = charmap.Windows1252.DecodeByte(b[0])
		}
		out = utf8.AppendRune(out, r)
		b = b[size:]
	}
	return out
}
