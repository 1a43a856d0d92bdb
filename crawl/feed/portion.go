package feed

// What gofeed makes of a document of small elements takes thirty times the bytes of the document. So the items of a large
// one are given to it in portions, and what it made of one is garbage before the next. What stands beside the items is
// parsed once, without them.

// portionSize bounds a portion, save one of a single item. It is in bytes, of which each element counts elementSize more
// than it has; a variable for the tests.
var portionSize = 1 << 20

const elementSize = 50

// portions divides the items that keep wants into parts, from one number up to another. As the start tags of the root and
// the channel stand in each part, none but the last is smaller than they are.
func (r *reader) portions(keep func(i int) bool) []span {
	var parts []span
	lay := r.lay
	bound := max(portionSize, lay.root.end-lay.root.start+lay.channel.end-lay.channel.start)
	start, size := 0, 0
	for i, it := range lay.items {
		if !keep(i) {
			continue
		}
		own := it.end - it.start + lay.costs[i].elements*elementSize
		if size > 0 && size+own > bound {
			parts = append(parts, span{start, i})
			start, size = i, 0
		}
		size += own
	}
	return append(parts, span{start, len(lay.items)})
}

// readItems reads the items that keep wants, of a document that takes about size bytes. It reports whether gofeed gave as
// many as were counted.
func (r *reader) readItems(size int, keep func(i int) bool) (ok bool, err error) {
	if r.lay.headTooLarge() {
		return false, errHead
	}
	parts, build := r.portions(keep), r.document
	if len(parts) > 1 {
		src, err := parse(r.ctx, r.format, r.document(nil, noItem))
		if err != nil || len(src.entries) > 0 {
			return false, err
		}
		r.src = src
		r.prepareItems()
		build, size = r.bare, 0
	}
	doc := make([]byte, 0, size)
	for _, p := range parts {
		wanted := func(i int) bool { return p.start <= i && i < p.end && keep(i) }
		doc = build(doc[:0], wanted)
		src, err := parse(r.ctx, r.format, doc)
		numbers := r.lay.order(wanted)
		if err != nil || len(src.entries) != len(numbers) {
			return false, err
		}
		if len(parts) == 1 {
			r.src = src
			r.prepareItems()
		}
		for k, i := range numbers {
			if err := r.ctx.Err(); err != nil {
				return false, err
			}
			r.items[i] = r.item(i, &src.entries[k])
		}
	}
	return true, nil
}

func noItem(int) bool { return false }
