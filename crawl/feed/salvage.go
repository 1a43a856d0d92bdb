package feed

import (
	"context"
	"fmt"
)

// salvage reads a document item by item after gofeed failed on the whole, or gave fewer items than were counted: the
// items that cannot be read are named in a warning, all others are kept.
func (r *reader) salvage(cause error) error {
	if r.format == typeJSON {
		r.repairJSON()
	}
	build := r.document
	none := func(int) bool { return false }
	src, err := parse(r.ctx, r.format, build(none))
	if err != nil {
		build = r.bare
		if src, err = parse(r.ctx, r.format, build(none)); err != nil {
			return fail(KindParse, "the feed cannot be read: %v", first(errText(cause), errText(err)))
		}
		r.warn("what the feed says of itself cannot be read")
	}
	r.src = src
	r.prepareItems()
	lost := r.salvageRange(build, 0, len(r.lay.items))
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if lost == 0 {
		return nil
	}
	if lost == len(r.lay.items) {
		return fail(KindParse, "no item can be read: %v", errText(cause))
	}
	r.feed.Partial = true
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// salvageRange reads the items from one number up to another, halving where that fails, and gives how many are lost.
func (r *reader) salvageRange(build func(func(int) bool) []byte, from, to int) (lost int) {
	if from >= to || r.ctx.Err() != nil {
		return to - from
	}
	src, err := parse(r.ctx, r.format, build(func(i int) bool { return from <= i && i < to }))
	if err == nil && len(src.entries) == to-from {
		for i := from; i < to; i++ {
			r.items[i] = r.item(i, &src.entries[i-from])
		}
		return 0
	}
	if to-from == 1 {
		r.warn(fmt.Sprintf("item %d cannot be read: %s", from+1, first(errText(err), "it is not recognised as an item")))
		return 1
	}
	middle := (from + to) / 2
	return r.salvageRange(build, from, middle) + r.salvageRange(build, middle, to)
}
