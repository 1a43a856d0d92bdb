package feed

import "bytes"

// nameByte and nameStart are the ASCII part of what encoding/xml takes as a name; a name beyond ASCII is odd.
var nameByte, nameStart = nameTables()

func nameTables() (all, first [256]bool) {
	for c := 0; c < 128; c++ {
		first[c] = 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_'
		all[c] = first[c] || '0' <= c && c <= '9' || c == '-' || c == '.' || c == ':'
	}
	return all, first
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// local is a name without its prefix.
func local(name []byte) []byte { return name[bytes.IndexByte(name, ':')+1:] }

// equalFold compares a name with one in lower case.
func equalFold(name []byte, lower string) bool {
	return len(name) == len(lower) && bytes.EqualFold(name, []byte(lower))
}

// eachAttribute calls f with the name and the raw value of each attribute of a start tag, however badly it is written.
func eachAttribute(tag []byte, f func(name, value []byte)) {
	i := 1
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '>' && tag[i] != '/' {
		i++
	}
	for {
		for i < len(tag) && (isSpace(tag[i]) || tag[i] == '/') {
			i++
		}
		if i >= len(tag) || tag[i] == '>' {
			return
		}
		name := i
		for i < len(tag) && !isSpace(tag[i]) && tag[i] != '=' && tag[i] != '>' && tag[i] != '/' {
			i++
		}
		end := i
		for i < len(tag) && isSpace(tag[i]) {
			i++
		}
		if i >= len(tag) || tag[i] != '=' {
			if end > name {
				f(tag[name:end], nil)
			}
			continue
		}
		for i++; i < len(tag) && isSpace(tag[i]); i++ {
		}
		var value []byte
		if value, i = attributeValue(tag, i); end > name {
			f(tag[name:end], value)
		}
	}
}

// attributeValue reads the value at i, quoted or not.
func attributeValue(tag []byte, i int) (value []byte, next int) {
	if i < len(tag) && (tag[i] == '"' || tag[i] == '\'') {
		if k := bytes.IndexByte(tag[i+1:], tag[i]); k >= 0 {
			return tag[i+1 : i+1+k], i + k + 2
		}
		i++
	}
	start := i
	for i < len(tag) && !isSpace(tag[i]) && tag[i] != '>' {
		i++
	}
	return tag[start:i], i
}

// child is an element directly below another.
type child struct {
	name    []byte // with its prefix
	tag     []byte // start tag
	content []byte
}

// eachChild calls f with the children of a well-formed element (one that the scanner has accepted).
func eachChild(b []byte, f func(c child)) {
	depth := 0
	var c child
	tagEnd := 0
	for i := 0; ; {
		k := bytes.IndexByte(b[i:], '<')
		if k < 0 {
			return
		}
		i += k
		start := i
		switch rest := b[i:]; {
		case bytes.HasPrefix(rest, []byte("<!--")):
			i += after(rest, 4, "-->")
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			i += after(rest, 9, "]]>")
		case rest[1] == '?':
			i += after(rest, 2, "?>")
		case rest[1] == '/':
			i += after(rest, 2, ">")
			if depth--; depth == 1 {
				c.content = b[tagEnd:start]
				f(c)
			}
		default:
			i = tagClose(b, i)
			empty := b[i-2] == '/'
			if depth == 1 {
				c = child{name: elementName(b, start), tag: b[start:i]}
				tagEnd = i
			}
			if empty && depth == 1 {
				f(c)
			}
			if !empty {
				depth++
			}
		}
	}
}

// tagClose gives the index behind the start tag at i, minding quotes.
func tagClose(b []byte, i int) int {
	for ; i < len(b) && b[i] != '>'; i++ {
		if b[i] == '"' || b[i] == '\'' {
			k := bytes.IndexByte(b[i+1:], b[i])
			if k < 0 {
				return len(b)
			}
			i += k + 1
		}
	}
	return min(i+1, len(b))
}

// htmlNames are the elements of HTML that stand, escaped or not, in titles and descriptions.
var htmlNames = map[string]bool{
	"a": true, "abbr": true, "acronym": true, "address": true, "article": true, "aside": true, "audio": true, "b": true,
	"bdi": true, "bdo": true, "big": true, "blockquote": true, "body": true, "br": true, "button": true, "caption": true,
	"center": true, "cite": true, "code": true, "col": true, "dd": true, "del": true, "dfn": true, "div": true, "dl": true,
	"dt": true, "em": true, "embed": true, "figcaption": true, "figure": true, "font": true, "form": true, "h1": true,
	"h2": true, "h3": true, "h4": true, "h5": true, "h6": true, "hr": true, "html": true, "i": true, "iframe": true,
	"img": true, "input": true, "ins": true, "kbd": true, "label": true, "li": true, "mark": true, "math": true,
	"nobr": true, "noscript": true, "o:p": true, "object": true, "ol": true, "p": true, "param": true, "picture": true,
	"pre": true, "q": true, "rp": true, "rt": true, "ruby": true, "s": true, "samp": true, "script": true, "section": true,
	"small": true, "span": true, "strike": true, "strong": true, "style": true, "sub": true, "sup": true, "svg": true,
	"table": true, "tbody": true, "td": true, "th": true, "thead": true, "tr": true, "tt": true, "u": true, "ul": true,
	"var": true, "video": true, "wbr": true,
}
