package feed

import (
	"bytes"
	"slices"
)

// What the scanner makes of the elements that it passes, by their names.

// hidden is an attribute that gofeed shall not act on.
type hidden struct {
	at  int // its last byte
	why reason
}

// reason says which elements an attribute is hidden of.
type reason uint8

const (
	isBase    reason = iota // of all: links are resolved here
	isType                  // of the format's own: gofeed would build a tree of the HTML, at a cost that a feed can drive up at will
	isDefault               // of those of the structure: gofeed would take every element in a namespace that it does not know for an extension
)

// attribute counts the namespaces and notes what may have to be hidden.
func (s *scanner) attribute(at span, value []byte, f *frame) {
	why := isBase
	switch name := at.of(s.b); {
	case len(name) == 4 && s.format == typeAtom && (string(name) == "type" || string(name) == "mode"):
		why = isType
	case len(name) < 5:
		return
	case string(name[:5]) == "xmlns" && (len(name) == 5 || name[5] == ':'):
		f.spaces++
		if len(name) > 5 {
			s.declare(name[6:], value, f)
			return
		}
		if nativeSpace(s.format, value) {
			return
		}
		why = isDefault
	case string(name[len(name)-5:]) == ":base":
		s.layout.bases = true
	default:
		return
	}
	s.hidden = append(s.hidden, hidden{at.end - 1, why})
}

// declare notes whether a prefix stands for the format itself within an element.
func (s *scanner) declare(prefix, value []byte, f *frame) {
	scope := s.scopes[f.scope]
	at := slices.IndexFunc(scope, func(p []byte) bool { return bytes.Equal(p, prefix) })
	switch native := nativeSpace(s.format, value); {
	case native == (at >= 0):
		return
	case native:
		scope = append(slices.Clip(scope), prefix)
	default:
		scope = slices.Delete(slices.Clone(scope), at, at+1)
	}
	f.scope = len(s.scopes)
	s.scopes = append(s.scopes, scope)
}

// hide hides from gofeed the attributes of a start tag that it shall not act on, all of whose namespaces are known now.
func (s *scanner) hide(f *frame) {
	for _, h := range s.hidden {
		if h.why == isBase || h.why == isType && s.native(f) && string(s.localName(f)) != "link" || h.why == isDefault && s.structural(f) {
			s.layout.patches = append(s.layout.patches, h.at)
		}
	}
	s.hidden = s.hidden[:0]
}

// structural reports whether an element is the root, the channel or an item.
func (s *scanner) structural(f *frame) bool {
	return len(s.stack) == 1 || s.stack[len(s.stack)-1].level == container && s.levelOf(f) != head
}

// localName is an element's name without its prefix.
func (s *scanner) localName(f *frame) []byte {
	if f.colon > 0 {
		return s.b[f.colon+1 : f.name.end]
	}
	return f.name.of(s.b)
}

// levelOf says what a child of a container, or the root, is.
func (s *scanner) levelOf(f *frame) level {
	switch name := s.localName(f); {
	case len(s.stack) == 1:
		return container
	case !s.native(f):
		return head
	case equalFold(name, s.itemName):
		return item
	case len(s.stack) == 2 && s.format != typeAtom && equalFold(name, "channel"):
		if s.layout.channel.end > 0 {
			s.odd = "a second channel"
		}
		return container
	}
	return head
}

// native reports whether an element is one of the format itself by its prefix: none, the root's, or one that is declared
// for the format.
func (s *scanner) native(f *frame) bool {
	if f.colon == 0 {
		return true
	}
	return slices.ContainsFunc(s.scopes[f.scope], func(p []byte) bool { return bytes.Equal(p, s.b[f.name.start:f.colon]) })
}

// enter notes a container.
func (s *scanner) enter(f *frame, tag span) {
	s.layout.whole = tag.end
	if len(s.stack) > 1 {
		s.layout.channel = tag
		s.layout.body.start = tag.end
		return
	}
	s.layout.root = tag
	eachAttribute(tag.of(s.b), func(name, value []byte) {
		s.encoded = s.encoded || string(name) == "xmlns:content" && string(value) == "http://purl.org/rss/1.0/modules/content/"
	})
}

// child notes a closed child of an item if it is a long text. An item that has two of a kind keeps both for gofeed, which
// knows which of them counts. It reports whether gofeed shall not see it.
func (s *scanner) child(f *frame, contentEnd int) bool {
	kind := 0
	switch name := f.name.of(s.b); {
	case s.format == typeAtom && string(name) == "content", string(name) == "content:encoded" && s.encoded && s.format != typeAtom:
		kind = 1
	case s.format == typeAtom && string(name) == "summary", string(name) == "description" && s.format != typeAtom:
	default:
		return false
	}
	parent := &s.stack[len(s.stack)-1]
	texts := s.layout.texts
	if s.texts[kind]++; s.texts[kind] > 1 {
		for n := len(texts) - 1; n >= 0 && texts[n].start > parent.start; n-- {
			if texts[n].content == (kind == 1) {
				s.refs += bytes.Count(texts[n].of(s.b), []byte("&"))
				s.layout.texts = slices.Delete(texts, n, n+1)
				break
			}
		}
		return false
	}
	if f.parent || contentEnd-f.content < minText || f.spaces != parent.spaces {
		return false
	}
	s.layout.texts = append(texts, text{span{f.content, contentEnd}, kind == 1})
	return true
}

// checkDate refuses a date that is no date: gofeed copies its text for each of the hundred forms that it tries.
func (s *scanner) checkDate(f *frame, contentEnd int) {
	if contentEnd-f.content <= maxDateText {
		return
	}
	switch string(bytes.ToLower(s.localName(f))) {
	case "pubdate", "lastbuilddate", "published", "updated", "modified", "issued", "created", "date":
		s.err = fail(KindTooLarge, "a date of more than %d bytes", maxDateText)
	}
}

// beside notes a closed element beside the items. Left out of the head is what moves without meaning anything for the
// items: dates of the feed itself, how long it may be cached (ttl is read apart), the program that made it, RDF's table
// of contents, and the number of search results.
func (s *scanner) beside(f *frame, whole span, contentEnd int) {
	switch string(bytes.ToLower(s.localName(f))) {
	case "ttl":
		s.layout.ttl = span{f.content, contentEnd}
	case "lastbuilddate", "pubdate", "updated", "modified", "date", "generator", "items", "totalresults":
	default:
		s.layout.head = append(s.layout.head, whole)
	}
}
