package feed

import (
	"bytes"
	"context"
)

// cutJSON is cut for a JSON Feed whose object begins at b[0]: head gets the members beside items, save those that begin
// with an underscore, which are extensions that nothing here reads (JSON Feed 1.1, "Extensions"). Where the text breaks
// off, what was complete before stays. What k knows is not read again.
func cutJSON(ctx context.Context, b []byte, k *known) (*layout, string, *Error) {
	s := jsonScanner{b: b, known: k, pulse: pulse{ctx: ctx}}
	end := s.object()
	if s.layout.end = end; end < 0 {
		s.odd, s.layout.end = "it ends before its last brace", len(b)
	}
	s.layout.total.elements = s.elements
	return &s.layout, s.odd, s.err
}

type jsonScanner struct {
	b        []byte
	layout   layout
	odd      string
	err      *Error
	elements int
	known    *known // nil: nothing is
	pulse    pulse
}

// object reads the members of the feed; -1 if it does not come to the closing brace.
func (s *jsonScanner) object() int {
	for i := s.space(1); i < len(s.b); {
		if s.b[i] == '}' {
			return i + 1
		}
		start := i
		keyEnd := stringEnd(s.b, i)
		if keyEnd < 0 {
			return -1
		}
		i = s.space(keyEnd)
		if i >= len(s.b) || s.b[i] != ':' {
			return -1
		}
		i = s.space(i + 1)
		key := s.b[start+1 : keyEnd-1]
		if bytes.EqualFold(key, []byte("items")) && i < len(s.b) && s.b[i] == '[' {
			if i = s.list(i + 1); i < 0 {
				return -1
			}
		} else {
			if i = s.value(i); i < 0 {
				return -1
			}
			if s.member(key, span{start, i}); s.err != nil {
				return -1
			}
		}
		if i = s.space(i); i < len(s.b) && s.b[i] == ',' {
			i = s.space(i + 1)
		} else if i < len(s.b) && s.b[i] != '}' {
			return -1
		}
	}
	return -1
}

// member notes a member beside items.
func (s *jsonScanner) member(key []byte, whole span) {
	s.count()
	if bytes.HasPrefix(key, []byte("_")) || bytes.IndexByte(key, '\\') >= 0 { // no name that is read has an escape
		return
	}
	if s.layout.head = append(s.layout.head, whole); len(s.layout.head) > maxMembers {
		s.err = fail(KindTooLarge, "more than %d members beside the items", maxMembers)
	}
}

// list reads the items from behind the opening bracket.
func (s *jsonScanner) list(i int) int {
	for i = s.space(i); i < len(s.b); {
		if s.b[i] == ']' {
			return i + 1
		}
		end := s.item(i)
		if end < 0 {
			return -1
		}
		if i = s.space(end); i < len(s.b) && s.b[i] == ',' {
			i = s.space(i + 1)
		} else if i < len(s.b) && s.b[i] != ']' {
			return -1
		}
	}
	return -1
}

// item reads one item. What is no object is none and passed over.
func (s *jsonScanner) item(i int) (end int) {
	before := s.elements
	if s.known != nil {
		if it := s.known.match(s.b[i:], false); it != nil {
			s.elements += it.cost.elements - 1
			s.add(span{i, i + it.size}, before)
			return i + it.size
		}
	}
	if end = s.value(i); end < 0 || s.b[i] != '{' {
		return end
	}
	if s.known != nil {
		s.known.numbers = append(s.known.numbers, -1)
	}
	s.add(span{i, end}, before)
	s.layout.texts = append(s.layout.texts, longStrings(s.b, i, end)...)
	return end
}

// longStrings gives the long texts of the item from i to end, unless it has a member twice.
func longStrings(b []byte, i, end int) (texts []text) {
	s := jsonScanner{b: b, pulse: pulse{ctx: context.Background()}} // the item was counted
	seen := map[string]bool{}
	for i = s.space(i + 1); i < end; i = s.space(i + 1) {
		keyEnd := stringEnd(b, i)
		if keyEnd < 0 {
			return nil
		}
		key := string(b[i+1 : keyEnd-1])
		if i = s.space(keyEnd); i >= end || b[i] != ':' {
			return nil
		}
		start := s.space(i + 1)
		if i = s.value(start); i < 0 {
			return nil
		}
		if key == "summary" || key == "content_html" || key == "content_text" {
			if seen[key] {
				return nil
			}
			seen[key] = true
			if b[start] == '"' && i-start >= minText {
				texts = append(texts, text{span{start, i}, key[0] == 'c'})
			}
		}
		if i = s.space(i); b[i] != ',' {
			break
		}
	}
	if seen["content_html"] && seen["content_text"] {
		return nil // which of the two counts is for the parser to say
	}
	return texts
}

func (s *jsonScanner) add(it span, before int) {
	s.layout.items = append(s.layout.items, it)
	s.count()
	s.layout.costs = append(s.layout.costs, cost{elements: s.elements - before})
	if len(s.layout.items) > maxItems {
		s.err = fail(KindTooLarge, "more than %d items", maxItems)
	}
}

func (s *jsonScanner) space(i int) int {
	for i < len(s.b) && isSpace(s.b[i]) {
		i++
	}
	return i
}

// value gives the index behind the value at i, -1 if it does not end.
func (s *jsonScanner) value(i int) int {
	depth := 0
	for i < len(s.b) {
		switch c := s.b[i]; c {
		case '"':
			if i = stringEnd(s.b, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			if depth++; depth >= maxDepth {
				s.err = fail(KindTooLarge, "values nested deeper than %d", maxDepth)
				return -1
			}
			s.count()
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 {
					return i
				}
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
			s.count()
		default:
			if depth == 0 && isSpace(c) {
				return i
			}
		}
		if s.err != nil {
			return -1
		}
		i++
	}
	return -1
}

func (s *jsonScanner) count() {
	if s.elements++; s.elements > maxElements {
		s.err = fail(KindTooLarge, "more than %d values", maxElements)
	} else if s.pulse.stopped() {
		s.err = errTime
	}
}

// stringEnd gives the index behind the string at i, -1 if there is none or it does not end.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); {
		k := bytes.IndexByte(b[i:], '"')
		if k < 0 {
			return -1
		}
		end := i + k
		slashes := 0
		for end-slashes > i && b[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		i = end + 1
	}
	return -1
}
