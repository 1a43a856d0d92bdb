package feed

import (
	"bytes"
	"context"
	"strings"
)

// mender rewrites broken markup so that the scanner accepts it: it closes what was left open, takes a wrong end tag for
// the right one, escapes what is no markup, and drops the item that the end of the document cut off.
type mender struct {
	b        []byte
	format   string
	out      []byte
	open     []openElement
	opened   map[string]int // how many of a name, in lower case, are open
	ends     map[string]int // where the next of each closing mark stands: see find
	quotes   []uint64       // a bit for each byte: a quote that tagEnd has looked at
	pulse    pulse
	rootEnd  int  // where the root's end tag begins, -1 if there is none
	finished bool // the document has its root's end tag
	cutOff   bool
	channel  bool // a channel was closed
}

type openElement struct {
	name  string
	at    int // of its start tag in out
	level level
}

// mend gives a well-formed document; cutOff says that the end of the original is missing. It stops early when ctx ends.
func mend(ctx context.Context, b []byte, format string) (out []byte, cutOff bool) {
	m := mender{b: b, format: format, pulse: pulse{ctx: ctx}}
	m.out = make([]byte, 0, len(b)+len(b)/16+64)
	m.ends, m.opened = map[string]int{}, map[string]int{}
	m.rootEnd = lastEnd(b, elementName(b, 0))
	m.finished = m.rootEnd >= 0
	m.run()
	return m.out, m.cutOff
}

// lastEnd finds the last end tag of that name, which may itself be incomplete, if nothing but comments follows it, else -1.
func lastEnd(b, name []byte) int {
	i := bytes.LastIndex(b, append([]byte("</"), name...))
	if i >= 0 && bytes.IndexByte(bytes.ReplaceAll(b[i+1:], []byte("<!--"), nil), '<') >= 0 {
		return -1
	}
	return i
}

func (m *mender) run() {
	for i := 0; i < len(m.b) && !m.full() && !m.pulse.stopped(); {
		k := bytes.IndexByte(m.b[i:], '<')
		if k < 0 {
			break
		}
		m.text(m.b[i : i+k])
		i += k
		next := m.markup(i)
		if next < 0 {
			break
		}
		if i = next; len(m.open) == 0 && len(m.out) > 0 {
			return
		}
	}
	m.end()
}

// full reports whether the document has grown by more than half of its size, which only one does that is made for it. It ends
// there, as if it were cut off.
func (m *mender) full() bool {
	if len(m.out) > len(m.b)+len(m.b)/2+1<<20 {
		m.finished = false
		return true
	}
	return false
}

// end closes what is open at the end of the document. What the end cut off is dropped, back to the last whole child of
// the root or the channel. If no more than the root's own end is missing, nothing is.
func (m *mender) end() {
	n := m.containers()
	m.cutOff = !m.finished && (n < len(m.open) || n > 1 || !m.channel || m.format != typeRSS)
	if n < len(m.open) {
		m.out = m.out[:m.open[n].at]
		m.open = m.open[:n] // opened is not asked any more
	}
	m.closeTo(0)
}

func (m *mender) text(b []byte) {
	for {
		k := bytes.Index(b, []byte("]]>"))
		if k < 0 {
			break
		}
		m.out = append(append(m.out, b[:k]...), "]]&gt;"...)
		b = b[k+3:]
	}
	m.out = append(m.out, b...)
}

// maxMarks is how many different marks are looked for: those of the syntax, and end tags of elements in which a CDATA
// section has no end. Each can cost a pass over the document.
const maxMarks = 32

// find gives the index behind the next mark from i on, -1 if there is none. Each byte is searched once for each mark, so
// that a thousand comments without an end cost no more than one.
func (m *mender) find(i int, mark string) int {
	at, known := m.ends[mark]
	if !known && len(m.ends) >= maxMarks {
		return -1
	}
	if !known || at >= 0 && at < i+len(mark) {
		at = after(m.b, i, mark)
		m.ends[mark] = at
	}
	return at
}

// markup handles the '<' at i and gives the index behind what it took, -1 to stop.
func (m *mender) markup(i int) int {
	rest := m.b[i:]
	end := 0
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		if end = m.find(i+4, "-->"); m.containers() < len(m.open) && m.overruns(i+4, end) {
			m.out = append(m.out, "&lt;"...)
			return i + 1
		}
		m.comment(m.b[i:max(i, end)])
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		end = m.cdata(i)
	case bytes.HasPrefix(rest, []byte("<?")):
		end = m.find(i+2, "?>")
	case bytes.HasPrefix(rest, []byte("<!")):
		end = m.find(i+2, ">")
	case bytes.HasPrefix(rest, []byte("</")):
		end = m.endTag(i)
	case len(rest) > 1 && nameStart[rest[1]]:
		end = m.startTag(i)
	default:
		m.out = append(m.out, "&lt;"...)
		return i + 1
	}
	if end > i {
		return end
	}
	if !m.finished {
		return -1 // cut off within it
	}
	m.out = append(m.out, "&lt;"...)
	return i + 1
}

func (m *mender) comment(b []byte) {
	if len(b) < 7 {
		return
	}
	inner := bytes.ReplaceAll(b[4:len(b)-3], []byte("-"), []byte(" "))
	m.out = append(append(append(m.out, "<!--"...), inner...), "-->"...)
}

// cdata copies a CDATA section. One that runs over the end of its item has lost its end: it ends with its element.
func (m *mender) cdata(i int) int {
	end := m.find(i+9, "]]>")
	if end < 0 && !m.finished || len(m.open) == 0 {
		return -1
	}
	to := end
	if end < 0 {
		to = len(m.b)
	}
	if end < 0 || m.overruns(i+9, end) {
		mark := "</" + m.open[len(m.open)-1].name
		if at := m.find(i+9, mark); at > 0 && at <= to {
			at -= len(mark)
			m.out = append(append(m.out, m.b[i:at]...), "]]>"...)
			return at
		}
	}
	if end > 0 {
		m.out = append(m.out, m.b[i:end]...)
	}
	return end
}

// overruns reports whether an item ends between i and end.
func (m *mender) overruns(i, end int) bool {
	itemEnd := m.find(i, "</"+m.itemName()+">")
	return itemEnd > 0 && itemEnd < end
}

func (m *mender) itemName() string {
	if m.format == typeAtom {
		return "entry"
	}
	return "item"
}

// endTag closes the innermost element of that name and all within it. A name that is not open closes the innermost
// element if that is one of the fields of an item or of the feed (</titel>), unless it is one of HTML.
func (m *mender) endTag(i int) int {
	start := i + 2
	for start < len(m.b) && isSpace(m.b[start]) {
		start++
	}
	nameEnd := start
	for nameEnd < len(m.b) && nameByte[m.b[nameEnd]] {
		nameEnd++
	}
	end := nameEnd
	for end < len(m.b) && m.b[end] != '>' && m.b[end] != '<' {
		end++
	}
	if end == len(m.b) && !m.finished {
		return -1
	}
	if end < len(m.b) && m.b[end] == '>' {
		end++
	}
	name := safeName(m.b[start:nameEnd])
	isOpen := m.opened[strings.ToLower(name)] > 0
	for k := len(m.open) - 1; isOpen && k >= 0; k-- {
		if !strings.EqualFold(m.open[k].name, name) {
			continue
		}
		if k == 0 && i < m.rootEnd && m.containers() < len(m.open) { // the root's own end is yet to come
			m.out = append(m.out, "&lt;"...)
			return i + 1
		}
		m.closeTo(k)
		return end
	}
	if n := len(m.open); n > 1 && m.open[n-2].level != other && m.open[n-1].level != item && m.open[n-1].level != container && !htmlNames[strings.ToLower(name)] {
		m.closeTo(n - 1)
	}
	return end
}

// closeTo closes the open elements down to number k.
func (m *mender) closeTo(k int) {
	for n := len(m.open) - 1; n >= k; n-- {
		m.channel = m.channel || n == 1 && m.open[n].level == container
		m.opened[strings.ToLower(m.open[n].name)]--
		m.out = append(append(append(m.out, "</"...), m.open[n].name...), '>')
	}
	m.open = m.open[:k]
}

// startTag rewrites a start tag: attributes quoted, names made safe.
func (m *mender) startTag(i int) int {
	end := m.tagEnd(i)
	if end < 0 {
		return -1
	}
	tag := m.b[i:end]
	e := openElement{name: safeName(elementName(tag, 0))}
	e.level = m.levelOf(e.name)
	if n := len(m.open); n > 1 && m.open[n-2].level == item && holdsText(plainName(m.open[n-1].name)) && fields[plainName(e.name)] {
		m.closeTo(n - 1) // a field within the text of another: that one was never closed
	}
	if e.level == item && m.begins(tag, end) {
		m.closeTo(m.containers())
	}
	if len(m.open) >= maxDepth || len(m.open) == 1 && m.channel && plainName(e.name) == "channel" {
		return end // what stands in a second channel is left beside the first
	}
	e.at = len(m.out)
	m.out = append(append(m.out, '<'), e.name...)
	eachAttribute(tag, m.attribute)
	if bytes.HasSuffix(tag, []byte("/>")) {
		m.out = append(m.out, "/>"...)
		return end
	}
	m.out = append(m.out, '>')
	m.open = append(m.open, e)
	m.opened[strings.ToLower(e.name)]++
	return end
}

func (m *mender) attribute(name, value []byte) {
	n := safeName(name)
	if !nameStart[n[0]] || len(value) > maxMarkup || m.full() {
		return
	}
	m.out = append(append(append(m.out, ' '), n...), `="`...)
	for _, c := range value {
		switch c {
		case '<':
			m.out = append(m.out, "&lt;"...)
		case '"':
			m.out = append(m.out, "&quot;"...)
		default:
			m.out = append(m.out, c)
		}
	}
	m.out = append(m.out, '"')
}

// containers counts the open containers: the root and its channel.
func (m *mender) containers() int {
	n := 0
	for n < len(m.open) && m.open[n].level == container {
		n++
	}
	return n
}

// begins reports whether the start tag of an item, which ends at end, begins a new one. Within another item it does if
// that can only have been left open: fields follow, or nothing but a field of it is open.
func (m *mender) begins(tag []byte, end int) bool {
	n := m.containers()
	if n == len(m.open) || m.open[n].level != item {
		return true
	}
	if bytes.HasSuffix(tag, []byte("/>")) {
		return false
	}
	for end < len(m.b) && isSpace(m.b[end]) {
		end++
	}
	return len(m.open) <= n+2 || fields[plainName(string(elementName(m.b, end)))]
}

func (m *mender) levelOf(name string) level {
	plain := plainName(name)
	switch n := len(m.open); {
	case n == 0:
		return container
	case strings.EqualFold(name, m.itemName()), plain == m.itemName() && strings.HasPrefix(m.open[0].name, strings.TrimSuffix(name, plain)):
		return item
	case n == 1 && plain == "channel" && m.format != typeAtom && !m.channel:
		return container
	case m.open[n-1].level == container:
		return head
	}
	return other
}

func plainName(name string) string { return strings.ToLower(string(local([]byte(name)))) }

// fields are the children of items that are common enough to show where the text of another, that was never closed, ends.
var fields = map[string]bool{
	"title": true, "link": true, "description": true, "guid": true, "pubdate": true, "encoded": true, "comments": true, "category": true,
	"id": true, "updated": true, "published": true, "creator": true, "date": true, "author": true, "enclosure": true, "content": true,
}

// holdsText reports whether a child of an item holds text alone.
func holdsText(name string) bool {
	return name == "summary" || fields[name] && name != "author" && name != "enclosure" && name != "content"
}

// tagEnd finds the end of the start tag at i: behind the first '>' outside quotes. -1 if another tag begins first. A quote
// that was looked at before belongs to a tag that had no end, so neither has this one.
func (m *mender) tagEnd(i int) int {
	b := m.b
	for i++; i < len(b); i++ {
		switch b[i] {
		case '>':
			return i + 1
		case '<':
			return -1
		case '"', '\'':
			if b[i-1] != '=' && !isSpace(b[i-1]) {
				continue
			}
			if m.quotes == nil {
				m.quotes = make([]uint64, len(b)/64+1)
			}
			if m.quotes[i/64]>>(i%64)&1 == 1 {
				return -1
			}
			m.quotes[i/64] |= 1 << (i % 64)
			if k := bytes.IndexByte(b[i+1:], b[i]); k >= 0 && believable(b[i+1:i+1+k], b[i+k+1:]) {
				i += k + 1
			}
		}
	}
	return -1
}

// believable reports whether a quoted value is one. If it holds whole tags, it may have lost its closing quote and have
// found the opening one of a later attribute.
func believable(value, rest []byte) bool {
	if bytes.IndexByte(value, '<') < 0 || bytes.IndexByte(value, '>') < 0 {
		return true
	}
	return len(value) <= 4096 && value[len(value)-1] != '=' && len(rest) > 1 && (isSpace(rest[1]) || rest[1] == '/' || rest[1] == '>')
}

// safeName makes a name that the scanner accepts.
func safeName(n []byte) string {
	if len(n) > 256 {
		n = n[:256]
	}
	colon := false
	name := make([]byte, len(n), len(n)+1)
	for i, c := range n {
		if !nameByte[c] || c == ':' && colon {
			c = '_'
		}
		colon = colon || c == ':'
		name[i] = c
	}
	if len(name) == 0 || !nameStart[name[0]] {
		name = append([]byte("_"), name...)
	}
	return string(name)
}
