package feed

import "bytes"

// cutJSON is cut for a JSON Feed whose object begins at b[0]: head gets the members beside items, save those that begin
// with an underscore, which are extensions that nothing here reads (JSON Feed 1.1, "Extensions"). Where the text breaks
// off, what was complete before stays.
func cutJSON(b []byte) (*layout, string, *Error) {
	s := jsonScanner{b: b}
	end := s.object()
	if s.err == nil && s.odd == "" && end < 0 {
		s.odd = "it ends before its last brace"
	}
	s.layout.end = max(end, 0)
	return &s.layout, s.odd, s.err
}

type jsonScanner struct {
	b        []byte
	layout   layout
	odd      string
	err      *Error
	elements int
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
			s.layout.items = nil // a repeated member replaces the former one
			if i = s.list(i + 1); i < 0 {
				return -1
			}
		} else {
			if i = s.value(i); i < 0 {
				return -1
			}
			if len(key) == 0 || key[0] != '_' {
				s.layout.head = append(s.layout.head, span{start, i})
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

// list reads the items from behind the opening bracket.
func (s *jsonScanner) list(i int) int {
	for i = s.space(i); i < len(s.b); {
		if s.b[i] == ']' {
			return i + 1
		}
		end := s.value(i)
		if end < 0 {
			return -1
		}
		if s.b[i] == '{' { // nothing else is an item
			s.layout.items = append(s.layout.items, span{i, end})
		}
		if len(s.layout.items) > maxItems {
			s.err = fail(KindTooLarge, "more than %d items", maxItems)
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
