package feed

import "bytes"

// The limits of structure. gofeed recurses by depth, copies the namespaces in scope for every element and joins the text
// of one element piece by piece; a document beyond these would cost it minutes, gigabytes or the stack.
const (
	maxDepth     = 256
	maxElements  = 500_000
	maxItems     = 20_000
	maxSpaces    = 64        // namespaces in scope
	maxSpaceWork = 5_000_000 // sum over the elements of the namespaces in scope
	maxPieces    = 5_000     // pieces of text of one element, broken up by children, comments or CDATA
)

// span is a part of a document, from start up to end.
type span struct{ start, end int }

func (s span) of(b []byte) []byte { return b[s.start:s.end] }

// layout says where a well-formed feed has what.
type layout struct {
	root    span   // the start tag of the root
	channel span   // the start tag of the channel, if there is one
	body    span   // the channel's content
	head    []span // elements beside the items that have a lasting meaning
	items   []span
	ttl     span  // content of the channel's ttl
	patches []int // bytes to overwrite so that gofeed does not see an xml:base: links are resolved here
	end     int   // behind the root's end tag
}

// frame is an open element.
type frame struct {
	name   span
	start  int
	spaces int // namespaces in scope
	pieces int // pieces of text so far
	level  level
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
	itemName string // item or entry
	layout   layout
	odd      string
	err      *Error
	elements int
	work     int
	depth    int
	stack    [maxDepth + 1]frame // stack[0] stands for the document
}

// cut scans the document whose root element begins at b[0].
func cut(b []byte, format string) (*layout, string, *Error) {
	s := scanner{b: b, itemName: "item"}
	if format == typeAtom {
		s.itemName = "entry"
	}
	s.scan()
	return &s.layout, s.odd, s.err
}

func (s *scanner) scan() {
	i := 0
	for s.odd == "" && s.err == nil {
		k := bytes.IndexByte(s.b[i:], '<')
		if k < 0 || i+k+1 >= len(s.b) {
			s.odd = "it ends before its last end tag"
			return
		}
		if k > 0 {
			s.text(s.b[i : i+k])
		}
		i += k
		switch c := s.b[i+1]; {
		case c == '/':
			i = s.endTag(i)
			if s.depth == 0 {
				s.layout.end = i
				return
			}
		case nameStart[c]:
			if i = s.startTag(i); s.depth == 0 && s.odd == "" && s.err == nil {
				s.layout.end = i // the root is an empty element
				return
			}
		case c == '!' || c == '?':
			i = s.special(i)
		default:
			s.odd = "a bare <"
		}
	}
}

func (s *scanner) text(b []byte) {
	s.piece()
	if bytes.Contains(b, []byte("]]>")) {
		s.odd = "a ]]> outside CDATA"
	}
}

// startTag reads the start tag at i and gives the index behind it.
func (s *scanner) startTag(i int) int {
	start := i
	for i++; i < len(s.b) && nameByte[s.b[i]]; i++ {
	}
	f := frame{name: span{start + 1, i}, start: start, spaces: s.stack[s.depth].spaces}
	i, empty := s.attributes(i, &f)
	if s.odd != "" {
		return i
	}
	parent := &s.stack[s.depth]
	s.elements++
	s.work += f.spaces
	switch {
	case s.elements > maxElements:
		s.err = fail(KindTooLarge, "more than %d elements", maxElements)
	case f.spaces > maxSpaces:
		s.err = fail(KindTooLarge, "more than %d namespaces in scope", maxSpaces)
	case s.work > maxSpaceWork:
		s.err = fail(KindTooLarge, "more than %d elements times namespaces", maxSpaceWork)
	case s.depth >= maxDepth:
		s.err = fail(KindTooLarge, "elements nested deeper than %d", maxDepth)
	}
	if s.err != nil {
		return i
	}
	if f.level = s.levelOf(f.name, parent.level); f.level == container {
		s.enter(span{start, i})
	}
	s.depth++
	s.stack[s.depth] = f
	if empty {
		s.close(i, i)
	}
	return i
}

// attributes reads up to the end of a start tag.
func (s *scanner) attributes(i int, f *frame) (next int, empty bool) {
	b := s.b
	for {
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
		name := i
		for i < len(b) && nameByte[b[i]] {
			i++
		}
		end := i
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		if end == name || !nameStart[b[name]] || i >= len(b) || b[i] != '=' {
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
		i += k + 2
		s.attribute(b[name:end], end, f)
	}
	s.odd = "a tag that cannot be read"
	return i, false
}

func (s *scanner) attribute(name []byte, end int, f *frame) {
	if len(name) < 5 {
		return
	}
	if string(name[:5]) == "xmlns" && (len(name) == 5 || name[5] == ':') {
		f.spaces++
	} else if string(name[len(name)-5:]) == ":base" {
		s.layout.patches = append(s.layout.patches, end-1)
	}
}

// levelOf says what an element is by its name and its parent.
func (s *scanner) levelOf(name span, parent level) level {
	n := name.of(s.b)
	if k := bytes.IndexByte(n, ':'); k >= 0 && bytes.IndexByte(n[k+1:], ':') >= 0 {
		s.odd = "a name with two colons"
	}
	switch {
	case s.depth == 0:
		return container
	case parent == container:
		if s.isItem(n) {
			return item
		}
		if s.depth == 1 && s.itemName == "item" && s.layout.channel.end == 0 && string(bytes.ToLower(local(n))) == "channel" {
			return container
		}
		return head
	}
	return other
}

// isItem compares names as gofeed does, without regard to case; a prefix is right if the root has the same.
func (s *scanner) isItem(n []byte) bool {
	if len(n) == len(s.itemName) {
		return bytes.EqualFold(n, []byte(s.itemName))
	}
	return len(n) > len(s.itemName) && s.prefixed(n)
}

func (s *scanner) enter(tag span) {
	if s.depth == 0 {
		s.layout.root = tag
	} else {
		s.layout.channel = tag
		s.layout.body.start = tag.end
	}
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
	if i >= len(s.b) || s.b[i] != '>' {
		s.odd = "an end tag that cannot be read"
		return i
	}
	if s.depth == 0 || !bytes.Equal(name, s.stack[s.depth].name.of(s.b)) {
		s.odd = "an end tag that does not match"
		return i
	}
	s.close(start, i+1)
	return i + 1
}

// close ends the innermost element, whose end tag lies from start to end.
func (s *scanner) close(start, end int) {
	f := &s.stack[s.depth]
	s.depth--
	switch f.level {
	case item:
		s.layout.items = append(s.layout.items, span{f.start, end})
		if len(s.layout.items) > maxItems {
			s.err = fail(KindTooLarge, "more than %d items", maxItems)
		}
	case head:
		s.beside(f, span{f.start, end}, start)
	case container:
		if s.depth == 1 {
			s.layout.body.end = start
		}
	}
}

// special passes over a comment, a CDATA section or a processing instruction at i.
func (s *scanner) special(i int) int {
	rest := s.b[i:]
	end := -1
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		if end = after(rest, 4, "-->"); end > 0 && (end == 6 || bytes.Contains(rest[4:end-2], []byte("--"))) {
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
		s.odd = "it ends within markup"
	}
	return i + end
}

// piece counts a piece of text of the innermost element. Text between the children of a container is never joined.
func (s *scanner) piece() {
	f := &s.stack[s.depth]
	if f.pieces++; f.pieces > maxPieces && f.level != container && s.depth > 0 {
		s.err = fail(KindTooLarge, "more than %d pieces of text in one element", maxPieces)
	}
}

// beside notes a closed element beside the items. Left out of the head is what moves without meaning anything for the
// items: dates of the feed itself, how long it may be cached (ttl is read apart), the program that made it, RDF's table
// of contents, and the number of search results.
func (s *scanner) beside(f *frame, whole span, contentEnd int) {
	switch string(bytes.ToLower(local(f.name.of(s.b)))) {
	case "ttl":
		s.layout.ttl = span{bytes.IndexByte(s.b[f.start:], '>') + f.start + 1, contentEnd}
	case "lastbuilddate", "pubdate", "updated", "modified", "date", "generator", "items", "totalresults":
	default:
		s.layout.head = append(s.layout.head, whole)
	}
}

// prefixed reports whether a name with a prefix is that of an item: its prefix is the root's, or the root declares it for
// RSS 1.0 or 0.9.
func (s *scanner) prefixed(n []byte) bool {
	k := bytes.IndexByte(n, ':')
	if k < 0 || !bytes.EqualFold(n[k+1:], []byte(s.itemName)) {
		return false
	}
	prefix, native := n[:k], bytes.HasPrefix(s.stack[1].name.of(s.b), n[:k+1])
	eachAttribute(s.layout.root.of(s.b), func(name, value []byte) {
		if bytes.HasPrefix(name, []byte("xmlns:")) && bytes.Equal(name[6:], prefix) {
			native = native || s.itemName == "item" && nativeSpace(typeRDF, value)
		}
	})
	return native
}
