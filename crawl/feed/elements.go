package feed

import (
	"bytes"
	"slices"
)

// What the scanner makes of the elements that it passes, by their names.

// attribute counts the namespaces and hides from gofeed what it shall not act on: xml:base (links are resolved here); in
// Atom the type of a text, for which it would build a tree of the HTML, at a cost that a feed can drive up at will; and a
// default namespace that it does not know, which would make it take every element for an extension.
func (s *scanner) attribute(at span, value []byte, f *frame) {
	hide := false
	switch name := at.of(s.b); {
	case len(name) == 4:
		hide = s.format == typeAtom && (string(name) == "type" || string(name) == "mode") && s.native(f) && string(s.localName(f)) != "link"
	case len(name) < 5:
	case string(name[:5]) == "xmlns" && (len(name) == 5 || name[5] == ':'):
		f.spaces++
		hide = len(name) == 5 && s.structural(f) && !nativeSpace(s.format, value)
	case string(name[len(name)-5:]) == ":base":
		hide, s.layout.bases = true, true
	}
	if hide {
		s.layout.patches = append(s.layout.patches, at.end-1)
	}
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

// native reports whether an element is one of the format itself by its prefix: none, the root's, or one that the root
// declares for the format.
func (s *scanner) native(f *frame) bool {
	if f.colon == 0 {
		return true
	}
	for _, p := range s.prefixes {
		if bytes.Equal(p, s.b[f.name.start:f.colon]) {
			return true
		}
	}
	return false
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
	if f.colon > 0 {
		s.prefixes = append(s.prefixes, s.b[f.name.start:f.colon])
	}
	eachAttribute(tag.of(s.b), func(name, value []byte) {
		if bytes.HasPrefix(name, []byte("xmlns:")) && nativeSpace(s.format, value) {
			s.prefixes = append(s.prefixes, name[6:])
		}
		s.encoded = s.encoded || string(name) == "xmlns:content" && string(value) == "http://purl.org/rss/1.0/modules/content/"
	})
}

// child notes a closed child of an item if it is a long text. An item that has two of a kind keeps both for gofeed, which
// knows which of them counts.
func (s *scanner) child(f *frame, contentEnd int) {
	kind := 0
	switch name := f.name.of(s.b); {
	case s.format == typeAtom && string(name) == "content", string(name) == "content:encoded" && s.encoded && s.format != typeAtom:
		kind = 1
	case s.format == typeAtom && string(name) == "summary", string(name) == "description" && s.format != typeAtom:
	default:
		return
	}
	parent := &s.stack[len(s.stack)-1]
	texts := s.layout.texts
	if s.texts[kind]++; s.texts[kind] > 1 {
		for n := len(texts) - 1; n >= 0 && texts[n].start > parent.start; n-- {
			if texts[n].content == (kind == 1) {
				s.layout.texts = slices.Delete(texts, n, n+1)
				return
			}
		}
		return
	}
	if !f.parent && contentEnd-f.content >= minText && f.spaces == parent.spaces {
		s.layout.texts = append(texts, text{span{f.content, contentEnd}, kind == 1})
	}
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
