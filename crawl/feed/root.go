package feed

import (
	"bytes"
	"html"
	"slices"
	"strings"
)

// The formats, as Feed.Type names them.
const (
	typeRSS  = "rss"
	typeRDF  = "rdf"
	typeAtom = "atom"
	typeJSON = "json"
)

// junkLimit is how far into a document a feed may begin after what a broken server put in front of it (bytes).
const junkLimit = 256 << 10

// findRoot gives the format of a document and where its feed begins: the root element decides, whatever the content type
// says. Leading blank lines, the XML declaration, comments, a document type and PHP warnings are passed over.
func findRoot(b []byte) (format string, start int, err *Error) {
	i := skipProlog(b)
	if i >= len(b) || len(bytes.Trim(b[i:], " \t\r\n\x00\ufeff")) == 0 {
		if len(bytes.Trim(b, " \t\r\n\x00\ufeff")) == 0 {
			return "", 0, fail(KindEmpty, "the document is empty")
		}
		return "", 0, fail(KindNotAFeed, "no feed: the document has no root element")
	}
	if b[i] == '{' {
		return typeJSON, i, nil
	}
	name := elementName(b, i)
	if format := formatOf(name); format != "" {
		return format, i, nil
	}
	if !isHTML(b) {
		for k := i; k < min(len(b), junkLimit); k++ {
			next := bytes.IndexByte(b[k:], '<')
			if next < 0 {
				break
			}
			k += next
			if format := formatOf(elementName(b, k)); format != "" {
				return format, k, nil
			}
		}
	}
	return "", 0, notAFeed(b, name)
}

func notAFeed(b, name []byte) *Error {
	what := "text"
	switch {
	case isHTML(b) || htmlNames[strings.ToLower(string(name))]:
		what = "an HTML page"
	case len(name) > 0:
		what = "an XML document <" + clip(string(name), 40) + ">"
	case len(bytes.TrimSpace(b)) > 0 && bytes.TrimSpace(b)[0] == '[':
		what = "a JSON array"
	}
	if title := pageTitle(b); title != "" {
		return fail(KindNotAFeed, "not a feed but %s: %q", what, clip(title, 200))
	}
	return fail(KindNotAFeed, "not a feed but %s", what)
}

// isBinary says that a body is text in no encoding, as pictures and PDF are.
func isBinary(b []byte) bool {
	if byShape(b) != nil || bytes.HasPrefix(bytes.TrimSpace(b), []byte("<")) {
		return false
	}
	return bytes.HasPrefix(b, []byte("%PDF-")) || bytes.IndexByte(b[:min(len(b), 1024)], 0) >= 0
}

func formatOf(name []byte) string {
	if name = local(name); len(name) > 4 {
		return ""
	}
	switch strings.ToLower(string(name)) {
	case "rss":
		return typeRSS
	case "rdf":
		return typeRDF
	case "feed":
		return typeAtom
	}
	return ""
}

// isHTML looks at the first markup only.
func isHTML(b []byte) bool {
	b = bytes.ToLower(b[:min(len(b), 1024)])
	return bytes.Contains(b, []byte("<!doctype html")) || bytes.Contains(b, []byte("<html"))
}

// elementName is the name of the start tag at b[i], nil if there is none.
func elementName(b []byte, i int) []byte {
	if i >= len(b) || b[i] != '<' {
		return nil
	}
	end := i + 1
	for end < len(b) && nameByte[b[end]] {
		end++
	}
	return b[i+1 : end]
}

// skipProlog passes over white space, processing instructions, comments and a document type.
func skipProlog(b []byte) int {
	i := 0
	for i < len(b) {
		rest := b[i:]
		var end int
		switch {
		case isSpace(b[i]):
			i++
			continue
		case bytes.HasPrefix(rest, []byte("<?")):
			end = after(rest, 2, "?>")
		case bytes.HasPrefix(rest, []byte("<!--")):
			end = after(rest, 4, "-->")
		case bytes.HasPrefix(rest, []byte("<!")):
			end = directiveEnd(rest)
		default:
			return i
		}
		if end < 0 {
			return i
		}
		i += end
	}
	return i
}

// after finds mark in b from i on and gives the index behind it, -1 if it is not there.
func after(b []byte, i int, mark string) int {
	if k := bytes.Index(b[min(i, len(b)):], []byte(mark)); k >= 0 {
		return i + k + len(mark)
	}
	return -1
}

// directiveEnd finds the end of a document type, which may hold quoted text and a bracketed subset.
func directiveEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '<', '[':
			depth++
		case ']':
			depth--
		case '"', '\'':
			k := bytes.IndexByte(b[i+1:], b[i])
			if k < 0 {
				return -1
			}
			i += k + 1
		case '>':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return -1
}

// pageTitle is the <title> of an HTML page.
func pageTitle(b []byte) string {
	b = b[:min(len(b), 64<<10)]
	lower := bytes.ToLower(b)
	i := bytes.Index(lower, []byte("<title"))
	if i < 0 || len(lower) != len(b) {
		return ""
	}
	open := bytes.IndexByte(b[i:], '>')
	if open < 0 {
		return ""
	}
	text, _, _ := bytes.Cut(b[i+open+1:min(len(b), i+open+1+1000)], []byte("<"))
	return strings.Join(strings.Fields(html.UnescapeString(string(text))), " ")
}

// fixRoot makes gofeed recognise the root: a prefix bound to a namespace that is nearly the right one gets the right one.
// A <feed> in some other namespace is no feed.
func (r *reader) fixRoot() error {
	tag := r.b[:tagClose(r.b, 0)]
	name := elementName(r.b, 0)
	prefix := ""
	if k := bytes.IndexByte(name, ':'); k > 0 {
		prefix = string(name[:k])
	}
	space, declared, at := "", false, 0
	eachAttribute(tag, func(n, value []byte) {
		if prefix == "" && string(n) == "xmlns" || prefix != "" && string(n) == "xmlns:"+prefix {
			space, declared = strings.TrimSpace(string(value)), true
			at = cap(tag) - cap(n)
		}
	})
	if r.format != typeAtom || prefix == "" && !declared || nativeSpace(typeAtom, []byte(space)) && declared {
		return nil
	}
	if declared && !strings.Contains(strings.ToLower(space), "atom") {
		return fail(KindNotAFeed, "not a feed but <%s> in the namespace %q", clip(string(name), 40), clip(space, 100))
	}
	if prefix == "" {
		return nil // the cut's patch takes the namespace away
	}
	fixed := []byte("<" + string(name) + ` xmlns:` + prefix + `="http://www.w3.org/2005/Atom"`)
	if !declared {
		r.b = slices.Concat(fixed, r.b[1+len(name):])
	} else {
		r.b = slices.Concat(fixed, r.b[1+len(name):at], []byte("xmlns_"), r.b[at+len("xmlns:"):])
	}
	return nil
}
