package feed

import (
	"cmp"
	"context"
	"fmt"
)

// salvage reads a document item by item after gofeed failed on the whole, or gave fewer items than were counted: the
// items that cannot be read are marked as lost, all others are kept.
func (r *reader) salvage(cause error, lost []bool) error {
	s := salvager{r: r, lost: lost, left: salvageWork(r.lay.seen())}
	if r.format == typeJSON {
		defer func(b []byte, lay *layout) { r.b, r.lay = b, lay }(r.b, r.lay)
		r.repairJSON(lost)
	}
	if err := s.readHead(cause); err != nil {
		return err
	}
	r.prepareItems()
	for _, p := range r.portions(func(i int) bool { return !lost[i] }) {
		s.read(p.start, p.end)
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

// salvager reads what it can of the items of a document.
type salvager struct {
	r    *reader
	doc  []byte // the last document that was built
	lost []bool
	left int // of salvageWork
}

// readHead reads what the feed says of itself, if it can be read.
func (s *salvager) readHead(cause error) (err error) {
	r, src := s.r, (*source)(nil)
	if err = errHead; !r.lay.headTooLarge() {
		src, err = s.parse(r.document, noItem)
	}
	if err != nil {
		if src, err = s.parse(r.bare, noItem); err != nil {
			return fail(KindParse, "the feed cannot be read: %s", cmp.Or(errText(cause), errText(err)))
		}
		r.warn("what the feed says of itself cannot be read")
	} else if n := len(src.entries); n > 0 { // the parser takes something beside the items for one
		r.feed.Partial = true
		r.warn(fmt.Sprintf("%d elements that may be items in another namespace were left out", n))
	}
	r.src = src
	return nil
}

// salvageWork bounds the work of a salvager, in bytes given to the parser and parts of the layout looked at to choose
// them: the start tags of the root and the channel are parsed again with each part of them, so that a small document whose
// items are all unreadable would cost minutes. It is enough for sixty lost items of a usual feed; what is not reached is lost.
func salvageWork(size int) int { return 4<<20 + 4*size }

// parse parses the document that build makes of the items that keep wants.
func (s *salvager) parse(build func(out []byte, keep func(i int) bool) []byte, keep func(i int) bool) (*source, error) {
	s.doc = build(s.doc[:0], keep)
	lay := s.r.lay
	s.left -= len(s.doc) + len(lay.items) + len(lay.texts) + len(lay.patches)
	return parse(s.r.ctx, s.r.format, s.doc)
}

// read reads the items from one number up to another, halving where that fails.
func (s *salvager) read(from, to int) {
	r := s.r
	wanted := func(i int) bool { return from <= i && i < to && !s.lost[i] }
	numbers := r.lay.order(wanted)
	if len(numbers) == 0 || r.ctx.Err() != nil {
		return
	}
	if s.left < 0 {
		for _, i := range numbers {
			s.lost[i] = true
		}
		return
	}
	src, err := s.parse(r.bare, wanted)
	if err == nil && len(src.entries) == len(numbers) {
		for k, i := range numbers {
			if r.ctx.Err() != nil {
				return
			}
			r.items[i] = r.item(i, &src.entries[k])
		}
		return
	}
	if len(numbers) == 1 {
		s.lost[numbers[0]] = true
		return
	}
	middle := (from + to) / 2
	s.read(from, middle)
	s.read(middle, to)
}

// report names the items that are lost.
func (r *reader) report(cause error, lost []bool) error {
	n, tooLarge := 0, 0
	for i := range lost {
		if !lost[i] {
			continue
		}
		why := ""
		if r.lay.tooLarge(i) {
			tooLarge++
			why = fmt.Sprintf(": it has more than %d elements", maxPart)
		}
		if n++; n <= 5 {
			r.warn(fmt.Sprintf("item %d cannot be read%s", i+1, why))
		}
	}
	switch {
	case n == 0:
		return nil
	case n == tooLarge && n == len(lost):
		return fail(KindTooLarge, "no item can be read: more than %d elements of one item", maxPart)
	case n == len(lost):
		return fail(KindParse, "no item can be read: %s", cmp.Or(errText(cause), "the parser does not recognise them"))
	case n > 5:
		r.warn(fmt.Sprintf("%d items in all cannot be read", n))
	}
	r.feed.Partial = true
	return nil
}

var errHead = fail(KindTooLarge, "more than %d elements beside the items", maxPart)

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
