package feed

import (
	"bytes"
	"strings"
)

// patch overwrites one byte of the name of an attribute that gofeed shall not understand (see scanner.attribute; or a
// default namespace that would make it take every element for an extension).
const patch = 'q'

// document builds what gofeed is given, behind out: all that stands outside the items, and the items that keep wants,
// without their long texts.
func (r *reader) document(out []byte, keep func(i int) bool) []byte {
	if r.format == typeJSON {
		return r.jsonDocument(out, r.lay.head, keep)
	}
	w := writer{r: r, out: out}
	from := 0
	for i, it := range r.lay.items {
		if !keep(i) {
			w.part(span{from, it.start})
			from = it.end
		}
	}
	w.part(span{from, r.lay.end})
	return w.out
}

// bare is document without all that stands beside the items, for when that is what cannot be read.
func (r *reader) bare(out []byte, keep func(i int) bool) []byte {
	if r.format == typeJSON {
		return r.jsonDocument(out, nil, keep)
	}
	lay := r.lay
	w := writer{r: r, out: out}
	w.part(lay.root)
	w.part(lay.channel)
	within := lay.channel.end > 0
	for _, i := range lay.order(keep) {
		if within && !lay.inChannel(lay.items[i]) {
			w.endTag(lay.channel)
			within = false
		}
		w.part(lay.items[i])
	}
	if within {
		w.endTag(lay.channel)
	}
	w.endTag(lay.root)
	return w.out
}

// writer copies parts of a document, with its patches and without its long texts.
type writer struct {
	r       *reader
	out     []byte
	at      int // how far the document was copied or passed over
	texts   int // the next of the layout's texts
	patches int // the next of the layout's patches
}

func (w *writer) part(p span) {
	if p.start < w.at {
		w.texts, w.patches = 0, 0
	}
	lay := w.r.lay
	for ; w.texts < len(lay.texts) && lay.texts[w.texts].start < p.end; w.texts++ {
		if t := lay.texts[w.texts]; t.start >= p.start {
			w.copy(span{p.start, t.start})
			p.start = t.end
		}
	}
	w.copy(p)
}

func (w *writer) copy(p span) {
	begin, patches := len(w.out)-p.start, w.r.lay.patches
	w.out = append(w.out, p.of(w.r.b)...)
	for ; w.patches < len(patches) && patches[w.patches] < p.end; w.patches++ {
		if at := patches[w.patches]; at >= p.start {
			w.out[begin+at] = patch
		}
	}
	w.at = p.end
}

// endTag writes the end tag of a container, unless its start tag is one too.
func (w *writer) endTag(tag span) {
	if b := tag.of(w.r.b); !bytes.HasSuffix(b, []byte("/>")) {
		w.out = append(append(append(w.out, "</"...), elementName(b, 0)...), '>')
	}
}

func (r *reader) jsonDocument(out []byte, head []span, keep func(i int) bool) []byte {
	out = append(out, '{')
	for _, m := range head {
		out = append(append(out, m.of(r.b)...), ',')
	}
	out = append(out, `"items":[`...)
	texts := r.lay.texts
	for i, it := range r.lay.items {
		kept, from := keep(i), it.start
		for len(texts) > 0 && texts[0].start < it.end {
			if kept {
				out = append(append(out, r.b[from:texts[0].start]...), `""`...)
				from = texts[0].end
			}
			texts = texts[1:]
		}
		if kept {
			out = append(append(out, r.b[from:it.end]...), ',')
		}
	}
	return append(bytes.TrimSuffix(out, []byte(",")), "]}"...)
}

// nativeSpace reports whether gofeed takes elements of a namespace as those of the format itself.
func nativeSpace(format string, uri []byte) bool {
	switch s := strings.TrimSpace(string(uri)); s {
	case "":
		return true
	case "http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#":
		return format == typeAtom
	case "http://purl.org/rss/1.0/", "http://channel.netscape.com/rdf/simple/0.9/", "http://my.netscape.com/rdf/simple/0.9/",
		"http://www.w3.org/1999/02/22-rdf-syntax-ns#":
		return format != typeAtom
	}
	return false
}
