package feed

import (
	"bytes"
	"slices"
	"strings"
)

// patch overwrites one byte of the name of an attribute that gofeed shall not understand (see scanner.attribute; or a
// default namespace that would make it take every element for an extension).
const patch = 'q'

// document builds what gofeed is given: all that stands outside the items, and the items that keep wants, without their
// long texts.
func (r *reader) document(keep func(i int) bool) []byte {
	if r.format == typeJSON {
		return r.jsonDocument(keep)
	}
	b, lay := r.b, r.lay
	out := make([]byte, 0, lay.end)
	from, next := 0, 0
	put := func(to int) {
		start := len(out)
		out = append(out, b[from:to]...)
		for ; next < len(lay.patches) && lay.patches[next] < to; next++ {
			if at := lay.patches[next]; at >= from {
				out[start+at-from] = patch
			}
		}
		from = to
	}
	texts := lay.texts
	for i, it := range lay.items {
		kept := keep(i)
		for len(texts) > 0 && texts[0].start < it.end {
			if kept {
				put(texts[0].start)
				from = texts[0].end
			}
			texts = texts[1:]
		}
		if !kept {
			put(it.start)
			from = it.end
		}
	}
	put(lay.end)
	return out
}

func (r *reader) jsonDocument(keep func(i int) bool) []byte {
	out := append(make([]byte, 0, len(r.b)), '{')
	for _, m := range r.lay.head {
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

// bare is document without the elements beside the items, for when those are what cannot be read.
func (r *reader) bare(keep func(i int) bool) []byte {
	lay := *r.lay
	r2 := *r
	r2.lay = &lay
	if r.format == typeJSON {
		lay.head = nil
		return r2.jsonDocument(keep)
	}
	// The elements beside the items are left out like items: both lists merged, in order.
	lay.items = slices.Concat(r.lay.items, r.lay.head)
	number := make(map[int]int, len(r.lay.items))
	for i, it := range r.lay.items {
		number[it.start] = i
	}
	slices.SortFunc(lay.items, func(a, b span) int { return a.start - b.start })
	return r2.document(func(i int) bool {
		n, isItem := number[lay.items[i].start]
		return isItem && keep(n)
	})
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
