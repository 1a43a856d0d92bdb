package feed

import (
	"bytes"
	"context"
	"strings"
)

// frame is an open element.
type frame struct {
	name    span
	content int // index behind the start tag
	colon   int // index of the first colon of the name, 0 if it has no prefix
	start   int
	spaces  int // namespaces in scope
	pieces  int // pieces of text so far
	text    int // their bytes
	refs    int // & in its text outside CDATA
	scope   int // index in scopes
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
	itemName string // item or entry
	layout   layout
	odd      string
	err      *Error
	total    cost
	joined   int        // see maxJoined
	refs     int        // see maxReferences
	atItem   cost       // total where the present item began
	known    *known     // nil: nothing is
	texts    [2]int     // how many summaries and contents the present item has had
	encoded  bool       // the prefix "content" has its usual meaning
	stack    []frame    // the open elements; stack[0] stands for the document
	scopes   [][][]byte // prefixes of the format's own elements, beside none: the document's, then those of each open element that changes them
	hidden   []hidden   // attributes of the present tag
	pulse    pulse
}

// cut scans the document whose root element begins at b[0]. What k knows is not read again.
func cut(ctx context.Context, b []byte, format string, k *known) (*layout, string, *Error) {
	s := scanner{b: b, format: format, known: k, itemName: "item", stack: make([]frame, 1, 32), scopes: make([][][]byte, 1, 4), pulse: pulse{ctx: ctx}}
	if format == typeAtom {
		s.itemName = "entry"
	}
	s.scan()
	s.layout.total = s.total
	return &s.layout, s.odd, s.err
}

func (s *scanner) scan() {
	b, i := s.b, 0
	for s.odd == "" && s.err == nil {
		if s.pulse.stopped() {
			s.err = errTime
			return
		}
		start := i
		for i < len(b) && isSpace(b[i]) {
			i++
		}
		blank := i
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
			s.piece(i - start)
		}
		if i > blank {
			s.text(b[blank:i])
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
	s.odd, s.layout.end = "it ends before its last end tag", i
	for k := len(s.stack) - 1; k > 0; k-- {
		if f := &s.stack[k]; f.level == container {
			s.layout.missing = append(append(append(s.layout.missing, "</"...), f.name.of(s.b)...), '>')
		}
	}
	return i
}

func (s *scanner) text(b []byte) {
	if bytes.IndexByte(b, '&') >= 0 {
		s.stack[len(s.stack)-1].refs += bytes.Count(b, []byte("&"))
	}
	if len(b) > 2 && bytes.Contains(b, []byte("]]>")) {
		s.odd = "a ]]> outside CDATA"
	}
}

// startTag reads the start tag at i and gives the index behind it.
func (s *scanner) startTag(i int) int {
	parent := &s.stack[len(s.stack)-1]
	f := frame{start: i, spaces: parent.spaces, scope: parent.scope}
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
	if len(s.stack) == 1 && f.colon > 0 {
		s.scopes[f.scope] = append(s.scopes[f.scope], s.b[f.name.start:f.colon])
	}
	if len(s.hidden) > 0 {
		s.hide(&f)
	}
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
		if i < len(b) && b[i] == '>' {
			return i + 1, false
		}
		if i+1 < len(b) && b[i] == '/' && b[i+1] == '>' {
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
	if f.scope > 0 {
		s.scopes = s.scopes[:s.stack[len(s.stack)-1].scope+1]
	}
	switch s.stack[len(s.stack)-1].level {
	case container:
		s.layout.whole = end
		s.checkDate(f, start)
	case item:
		if s.child(f, start) {
			f.refs = 0
		}
		s.checkDate(f, start)
	case other:
		if n := len(s.stack); n > 1 && s.stack[n-2].level == item { // of an entry's source
			s.checkDate(f, start)
		}
	}
	if s.refs += f.refs; s.refs > maxReferences {
		s.err = fail(KindTooLarge, "more than %d references", maxReferences)
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
		s.piece(max(end-12, 0))
	case rest[1] == '?':
		name := 2
		for name < len(rest) && nameByte[rest[name]] {
			name++
		}
		if end = after(rest, name, "?>"); !nameStart[rest[min(2, len(rest)-1)]] || bytes.EqualFold(rest[2:name], []byte("xml")) {
			s.odd = "a processing instruction that cannot be read"
		}
	case !strings.HasPrefix("<!--", string(rest[:min(4, len(rest))])) && !strings.HasPrefix("<![CDATA[", string(rest[:min(9, len(rest))])):
		s.odd = "a declaration inside the feed"
	}
	if end < 0 && s.odd == "" {
		return s.cutOff(i)
	}
	return i + end
}

// piece counts a piece of text of the innermost element. Text between the children of a container is never joined.
func (s *scanner) piece(size int) {
	f := &s.stack[len(s.stack)-1]
	if f.level == container || len(s.stack) == 1 {
		return
	}
	f.pieces++
	s.joined += f.text
	f.text += size
	switch {
	case f.pieces > maxPieces:
		s.err = fail(KindTooLarge, "more than %d pieces of text in one element", maxPieces)
	case s.joined > maxJoined:
		s.err = fail(KindTooLarge, "too many pieces of text joined")
	}
}
