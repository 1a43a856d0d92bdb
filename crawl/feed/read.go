package feed

import (
	"cmp"
	"context"
	"time"
)

// reader is the work on one document.
type reader struct {
	ctx    context.Context
	d      Document
	feed   *Feed
	format string
	b      []byte // the document in UTF-8, from its root element on
	lay    *layout
	head   uint64   // hash of all that stands outside the items and has a lasting meaning
	hashes []uint64 // of the items
	mem    *memory  // nil: nothing is known
	known  []int    // for each item its number in mem.items, -1
	plain  bool     // b is a part of the body as it came
	src    *source
	items  []*Item // what was read, for each item of the document; nil: known, or not readable
	links  resolver
	author string // of the items that name none
	spare  bool   // something beyond maxDetails was left out

	siteBase, rootBase, channelBase string // what links are relative to
}

// readTime is how long one document may take.
const readTime = 20 * time.Second

var errTime = &Error{KindParse, "the feed took longer than " + readTime.String() + " to read"}

// pulse looks now and then whether a context has ended, for loops over the pieces of a document.
type pulse struct {
	ctx   context.Context
	count uint
}

// stopped reports whether the context has ended; it looks at the first call and each thousandth.
func (p *pulse) stopped() bool {
	p.count++
	return p.count%1024 == 1 && p.ctx.Err() != nil
}

// Read reads a document. The error is an *Error (or ctx's). A feed without items is a success. A panic, which only a fault
// of this program or of a parser could cause, is an *Error too, so that one document cannot end a run.
func Read(ctx context.Context, d Document) (f *Feed, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, fail(KindParse, "reading the feed panicked: %v", p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, readTime, errTime)
	defer cancel()
	f, err = read(limited, d)
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		return nil, ctxErr
	}
	return f, err
}

func read(ctx context.Context, d Document) (*Feed, error) {
	r := &reader{ctx: ctx, d: d, feed: &Feed{}}
	m := unpack(d.Memory)
	quick := r.glance(m)
	if quick && r.readNew() {
		return r.feed, nil
	}
	why := r.feed.Why
	r.feed = &Feed{}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.recall(m)
	if r.feed.Why = cmp.Or(why, r.feed.Why); !quick && r.readNew() {
		return r.feed, nil
	}
	if err := r.readWhole(); err != nil {
		return nil, err
	}
	return r.feed, nil
}

// readWhole parses everything.
func (r *reader) readWhole() error {
	r.feed.Whole = true
	n := len(r.lay.items)
	r.items = make([]*Item, n)
	lost := make([]bool, n)
	for i := range lost {
		lost[i] = r.lay.tooLarge(i)
	}
	ok, cause := r.readItems(r.lay.seen(), func(i int) bool { return !lost[i] })
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if !ok {
		clear(r.items)
		if err := r.salvage(cause, lost); err != nil {
			return err
		}
	}
	if err := r.report(cause, lost); err != nil {
		return err
	}
	all := make([]Item, 0, n)
	for _, it := range r.items {
		if it != nil {
			all = append(all, *it)
		}
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.finish(needed(r.d.Rule, r.format, all))
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	return nil
}

func (r *reader) warn(text string) {
	if text != "" && len(r.feed.Warnings) < maxWarnings {
		r.feed.Warnings = append(r.feed.Warnings, message("%s", text))
	}
}
