package feed

import (
	"bytes"
	"slices"
)

// frame is an open element.
type frame struct {
	name    span
	content int // index behind the start tag
	colon   int // index of the first colon of the name, 0 if it has no prefix
	start   int
	spaces  int // namespaces in scope
	pieces  int // pieces of text so far
	level   level
	parent  bool // it has children
}

// level says what an open element is to the scanner.
type level uint8

const (
	other     level = iota
	container       // the root or its channel
	item
	head // an element beside the items
)

// scanner finds the items of a document in one pass and checks its structure. It accepts only markup that it fully
// understands: odd says what it stopped at, and mend rewrites such a document.
type scanner struct {
	b        []byte
	format   string
	itemName string   // item or entry
	prefixes [][]byte // those of the format's own elements, beside none
	layout   layout
	odd      string
	err      *Error
	total    cost
	atItem   cost    // total where the present item began
	known    *known  // nil: nothing is
	texts    [2]int  // how many summaries and contents the present item has had
	encoded  bool    // the prefix "content" has its usual meaning
	stack    []frame // the open elements; stack[0] stands for the document
}

// cut scans the document whose root element begins at b[0]. What k knows is not read again.
func cut(b []byte, format string, k *known) (*layout, string, *Error) {
	s := scanner{b: b, format: format, known: k, itemName: "item", stack: make([]frame, 1, 32)}
	if format == typeAtom {
		s.itemName = "entry"
	}
	s.scan()
	return &s.layout, s.odd, s.err
}

func (s *scanner) scan() {
	b, i := s.b, 0
	for s.odd == "" && s.err == nil {
		start := i
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i < len(b) && b[i] != '<' {
			if k := bytes.IndexByte(b[i:], '<'); k < 0 {
				i = len(b)
			} else {
				i += k
			}
		}
		if i+1 >= len(b) {
			s.cutOff(i)
			return
		}
		if i > start {
			s.text(b[start:i])
		}
		switch c := b[i+1]; {
		case c == '/':
			i = s.endTag(i)
		case nameStart[c]:
			i = s.startTag(i)
		case c == '!' || c == '?':
			i = s.special(i)
		default:
			s.odd = "a bare <"
		}
		if len(s.stack) == 1 && s.odd == "" {
			s.layout.end = i
			return
		}
	}
}

// cutOff notes that the document ends before its last end tag, and which are missing.
func (s *scanner) cutOff(i int) int {
	s.odd = "it ends before its last end tag"
	for k := len(s.stack) - 1; k > 0; k-- {
		if f := &s.stack[k]; f.level == container {
			s.layout.missing = append(append(append(s.layout.missing, "</"...), f.name.of(s.b)...), '>')
		}
	}
	return i
}

func (s *scanner) text(b []byte) {
	s.piece()
	if len(b) > 2 && bytes.Contains(b, []byte("]]>")) {
		s.odd = "a ]]> outside CDATA"
	}
}

// startTag reads the start tag at i and gives the index behind it.
func (s *scanner) startTag(i int) int {
	parent := &s.stack[len(s.stack)-1]
	f := frame{start: i, spaces: parent.spaces}
	for i++; i < len(s.b) && nameByte[s.b[i]]; i++ {
		if s.b[i] == ':' {
			if f.colon > 0 {
				s.odd = "a name with two colons"
			}
			f.colon = i
		}
	}
	f.name = span{f.start + 1, i}
	if s.known != nil && parent.level == container && equalFold(s.localName(&f), s.itemName) {
		if end := s.skip(f.start); end > 0 {
			return end
		}
	}
	i, empty := s.attributes(i, &f)
	if s.odd != "" || s.err != nil || !s.allow(&f) {
		return i
	}
	if parent.level == container || len(s.stack) == 1 {
		switch f.level = s.levelOf(&f); f.level {
		case container:
			s.enter(&f, span{f.start, i})
		case item:
			s.atItem = cost{s.total.elements - 1, s.total.spaces - f.spaces}
			s.texts = [2]int{}
		}
	}
	f.content, parent.parent = i, true
	s.stack = append(s.stack, f)
	if empty {
		s.close(i, i)
	}
	return i
}

// skip passes over the item at start if it is known, and gives the index behind it.
func (s *scanner) skip(start int) int {
	it := s.known.match(s.b[start:], len(s.stack) == 3)
	if it == nil {
		return 0
	}
	s.atItem = s.total
	s.total.elements += it.cost.elements
	s.total.spaces += it.cost.spaces
	s.addItem(span{start, start + it.size})
	return start + it.size
}

// addItem notes an item that has been passed.
func (s *scanner) addItem(it span) {
	s.layout.whole = it.end
	s.layout.items = append(s.layout.items, it)
	s.layout.costs = append(s.layout.costs, cost{s.total.elements - s.atItem.elements, s.total.spaces - s.atItem.spaces})
	s.limit()
}

// allow counts an element and reports whether the document is still within its limits.
func (s *scanner) allow(f *frame) bool {
	s.total.elements++
	s.total.spaces += f.spaces
	if len(s.stack) > maxDepth {
		s.err = fail(KindTooLarge, "elements nested deeper than %d", maxDepth)
	}
	return s.limit()
}

// limit checks the sums.
func (s *scanner) limit() bool {
	switch {
	case s.err != nil:
	case s.total.elements > maxElements:
		s.err = fail(KindTooLarge, "more than %d elements", maxElements)
	case s.total.spaces > maxSpaceWork:
		s.err = fail(KindTooLarge, "more than %d elements times namespaces", maxSpaceWork)
	case len(s.layout.items) > maxItems:
		s.err = fail(KindTooLarge, "more than %d items", maxItems)
	}
	return s.err == nil
}

// attributes reads up to the end of a start tag.
func (s *scanner) attributes(i int, f *frame) (next int, empty bool) {
	b := s.b
	for n := 0; ; n++ {
		switch {
		case f.spaces > maxSpaces:
			s.err = fail(KindTooLarge, "more than %d namespaces in scope", maxSpaces)
			return i, false
		case n > maxAttributes:
			s.err = fail(KindTooLarge, "more than %d attributes of one element", maxAttributes)
			return i, false
		}
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if i+1 >= len(b) {
			break
		}
		if b[i] == '>' {
			return i + 1, false
		}
		if b[i] == '/' && b[i+1] == '>' {
			return i + 2, true
		}
		name, colons := i, 0
		for ; i < len(b) && nameByte[b[i]]; i++ {
			if b[i] == ':' {
				colons++
			}
		}
		end := i
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if end == name || colons > 1 || !nameStart[b[name]] || i >= len(b) || b[i] != '=' {
			break
		}
		for i++; i < len(b) && isSpace(b[i]); i++ {
		}
		if i >= len(b) || b[i] != '"' && b[i] != '\'' {
			break
		}
		k := bytes.IndexByte(b[i+1:], b[i])
		if k < 0 || bytes.IndexByte(b[i+1:i+1+k], '<') >= 0 {
			break
		}
		value := i + 1
		i += k + 2
		s.attribute(span{name, end}, b[value:i-1], f)
	}
	if s.odd = "a tag that cannot be read"; bytes.IndexByte(b[f.start:], '>') < 0 {
		s.cutOff(i)
	}
	return i, false
}

// attribute counts the namespaces and hides from gofeed what it shall not act on: xml:base (links are resolved here); in
// Atom the type of a text, for which it would build a tree of the HTML, at a cost that a feed can drive up at will; and a
// default namespace that it does not know, which would make it take every element for an extension.
func (s *scanner) attribute(at span, value []byte, f *frame) {
	hide := false
	switch name := at.of(s.b); {
	case len(name) == 4:
		hide = s.format == typeAtom && (string(name) == "type" || string(name) == "mode") && string(s.localName(f)) != "link"
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
	case f.colon > 0 && !s.nativePrefix(s.b[f.name.start:f.colon]):
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

// nativePrefix reports whether a prefix is the root's, or one that the root declares for the format.
func (s *scanner) nativePrefix(prefix []byte) bool {
	for _, p := range s.prefixes {
		if bytes.Equal(p, prefix) {
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

// endTag reads the end tag at i.
func (s *scanner) endTag(i int) int {
	start := i
	for i += 2; i < len(s.b) && nameByte[s.b[i]]; i++ {
	}
	name := s.b[start+2 : i]
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	if i >= len(s.b) {
		return s.cutOff(i)
	}
	if s.b[i] != '>' {
		s.odd = "an end tag that cannot be read"
		return i
	}
	if len(s.stack) == 1 || !bytes.Equal(name, s.stack[len(s.stack)-1].name.of(s.b)) {
		s.odd = "an end tag that does not match"
		return i
	}
	s.close(start, i+1)
	return i + 1
}

// close ends the innermost element, whose end tag lies from start to end.
func (s *scanner) close(start, end int) {
	f := &s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	switch s.stack[len(s.stack)-1].level {
	case container:
		s.layout.whole = end
	case item:
		s.child(f, start)
	}
	switch f.level {
	case item:
		if s.addItem(span{f.start, end}); s.known != nil {
			s.known.numbers = append(s.known.numbers, -1)
		}
	case head:
		s.beside(f, span{f.start, end}, start)
	case container:
		if len(s.stack) == 2 {
			s.layout.body.end = start
		}
	}
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

// special passes over a comment, a CDATA section or a processing instruction at i.
func (s *scanner) special(i int) int {
	rest := s.b[i:]
	end := -1
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		if end = after(rest, 4, "-->"); end > 0 && bytes.Contains(rest[4:end-2], []byte("--")) {
			s.odd = "a comment with -- in it"
		}
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		end = after(rest, 9, "]]>")
		s.piece()
	case rest[1] == '?':
		name := 2
		for name < len(rest) && nameByte[rest[name]] {
			name++
		}
		if end = after(rest, name, "?>"); !nameStart[rest[min(2, len(rest)-1)]] || bytes.EqualFold(rest[2:name], []byte("xml")) {
			s.odd = "a processing instruction that cannot be read"
		}
	default:
		s.odd = "a declaration inside the feed"
	}
	if end < 0 && s.odd == "" {
		return s.cutOff(i)
	}
	return i + end
}

// piece counts a piece of text of the innermost element. Text between the children of a container is never joined.
func (s *scanner) piece() {
	f := &s.stack[len(s.stack)-1]
	if f.pieces++; f.pieces > maxPieces && f.level != container && len(s.stack) > 1 {
		s.err = fail(KindTooLarge, "more than %d pieces of text in one element", maxPieces)
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
