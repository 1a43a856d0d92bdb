package feed

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// reader is the work on one document.
type reader struct {
	ctx                             context.Context
	d                               Document
	format                          string
	b                               []byte // the document in UTF-8, from its root element on
	lay                             *layout
	head                            uint64
	hashes                          []uint64
	mem                             *memory // nil: nothing is known
	known                           []int   // for each item its number in mem.items, -1
	src                             *source
	siteBase, rootBase, channelBase string
	items                           []*Item // what was read, for each item of the document; nil: known, or not readable
	feed                            *Feed
}

// readTime is how long one document may take.
const readTime = 20 * time.Second

// Read reads a document. The error is an *Error (or ctx's). A feed without items is a success.
func Read(ctx context.Context, d Document) (*Feed, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, readTime, errTime)
	defer cancel()
	f, err := read(limited, d)
	if ctxErr := ctx.Err(); err != nil && ctxErr != nil {
		return nil, ctxErr
	}
	return f, err
}

var errTime = &Error{KindParse, "the feed took longer than " + readTime.String() + " to read"}

func read(ctx context.Context, d Document) (*Feed, error) {
	r := &reader{ctx: ctx, d: d, feed: &Feed{}}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.recall()
	if !r.readNew() {
		if err := r.readWhole(); err != nil {
			return nil, err
		}
	}
	return r.feed, nil
}

// prepare makes the document one that the scanner accepts: characters, root, markup.
func (r *reader) prepare() error {
	text, ascii, warning := decode(r.d.Body, r.d.ContentType)
	r.warn(warning)
	format, start, err := findRoot(text)
	if err != nil {
		return err
	}
	if start > 0 && len(bytes.TrimSpace(text[:start])) > 0 && skipProlog(text, 0) < start {
		r.warn("something before the feed was left out")
	}
	r.format, r.b = format, text[start:]
	r.feed.Type = format
	var changed bool
	if r.b, changed = scrub(r.b, ascii); changed {
		r.warn("characters that XML does not allow were removed")
	}
	if format == typeJSON {
		return r.cutJSON()
	}
	if err := r.fixRoot(); err != nil {
		return err
	}
	lay, odd, err := cut(r.b, format)
	if err == nil && odd != "" {
		r.repair(lay, odd)
		lay, odd, err = cut(r.b, format)
	}
	switch {
	case err != nil:
		return err
	case odd != "" && !r.feed.Partial:
		return fail(KindParse, "broken markup that cannot be mended: %s", odd)
	case r.feed.Partial && len(lay.items) == 0:
		return fail(KindTruncated, "the document is cut off before the end of the first item")
	}
	r.lay = lay
	return nil
}

// repair makes a document well-formed: what is so as far as it goes gets its missing end tags, all else is mended.
func (r *reader) repair(lay *layout, odd string) {
	name := elementName(r.b, 0)
	if lay.missing != nil && !hasEnd(r.b, name) {
		r.b = slices.Concat(r.b[:lay.whole], lay.missing)
		// A channel that was closed has all its items, but for those of RDF, which stand behind it.
		r.feed.Partial = r.format != typeRSS || lay.body.end == 0
	} else {
		r.b, r.feed.Partial = mend(r.b, r.format)
	}
	if r.feed.Partial {
		r.warn("the document is cut off")
	} else {
		r.warn("broken markup was mended: " + odd)
	}
}

func (r *reader) cutJSON() error {
	lay, odd, err := cutJSON(r.b)
	if err != nil {
		return err
	}
	version, items := "", len(lay.items) > 0
	for _, m := range lay.head {
		if key, value, ok := bytes.Cut(m.of(r.b), []byte(":")); ok && bytes.Equal(bytes.TrimSpace(key), []byte(`"version"`)) {
			version = string(value)
		}
	}
	if !strings.Contains(version, "jsonfeed.org") && !(items && version != "") {
		return fail(KindNotAFeed, "not a feed but a JSON document without the version of a JSON Feed")
	}
	if odd != "" {
		if len(lay.items) == 0 {
			return fail(KindTruncated, "the document is cut off before the end of the first item")
		}
		r.feed.Partial = true
		r.warn("the document is cut off")
	}
	r.lay = lay
	return nil
}

// recall hashes the document's parts and finds those that memory knows.
func (r *reader) recall() {
	r.feed.Count = len(r.lay.items)
	h := xxhash.New()
	hashNumber(h, Version)
	hashString(h, r.format)
	hashString(h, r.d.URL)
	h.Write(r.lay.root.of(r.b))
	h.Write(r.lay.channel.of(r.b))
	for _, e := range r.lay.head {
		hashNumber(h, int64(e.end-e.start))
		h.Write(e.of(r.b))
	}
	r.head = h.Sum64()
	r.hashes = make([]uint64, len(r.lay.items))
	for i, it := range r.lay.items {
		r.hashes[i] = xxhash.Sum64(it.of(r.b))
		if r.lay.inChannel(it) {
			r.hashes[i]++ // within the channel, which may have a base of its own
		}
	}
	r.known = make([]int, len(r.lay.items))
	for i := range r.known {
		r.known[i] = -1
	}
	m := unpack(r.d.Memory)
	switch {
	case m == nil && len(r.d.Memory) > 0:
		r.feed.Why = "what was remembered of it cannot be used"
	case m == nil:
	case m.rule != r.d.Rule:
		r.feed.Why = "the rule of its identities changed"
	case m.head != r.head:
		r.feed.Why = "something outside the items changed"
	default:
		r.mem = m
		r.match()
	}
}

// match finds the items that are as they were. They mostly stand in the same order.
func (r *reader) match() {
	var byHash map[uint64]int
	next := 0
	for i, h := range r.hashes {
		for k := next; k < min(next+2, len(r.mem.items)); k++ {
			if r.mem.items[k].hash == h && r.mem.items[k].known {
				r.known[i] = k
				next = k + 1
				break
			}
		}
		if r.known[i] >= 0 {
			continue
		}
		if byHash == nil {
			byHash = make(map[uint64]int, len(r.mem.items))
			for k := range r.mem.items {
				if r.mem.items[k].known {
					byHash[r.mem.items[k].hash] = k
				}
			}
		}
		if k, ok := byHash[h]; ok {
			r.known[i], next = k, k+1
		}
	}
}

// readNew parses the items that are new. It gives up, and says why, where leaving out the others could change anything.
func (r *reader) readNew() bool {
	if r.mem == nil {
		return false
	}
	fresh, moved := 0, len(r.known) != len(r.mem.items)
	here := make(map[int]bool)
	for i, k := range r.known {
		moved = moved || k != i
		if k < 0 {
			fresh++
		} else if r.mem.items[k].shared {
			here[k] = true
		}
	}
	switch {
	case r.mem.shared != len(here):
		r.feed.Why = "an item whose identity another shared is gone"
		return false
	case fresh == len(r.known) && fresh > 0:
		return false
	case !moved && r.mem.shared == 0:
		r.unchanged()
		return true
	}
	r.items = make([]*Item, len(r.known))
	if fresh > 0 && !r.parseNew(fresh) {
		return false
	}
	r.finish(r.mem.rule)
	return true
}

// unchanged is the result of a document whose items are all as they were.
func (r *reader) unchanged() {
	f := r.feed
	f.Rule, f.Memory = r.mem.rule, r.d.Memory
	f.Keys = make([]string, 0, len(r.mem.items))
	for i := range r.mem.items {
		if !r.mem.items[i].again {
			f.Keys = append(f.Keys, r.mem.items[i].key)
		}
	}
	r.describe(r.mem)
}

func (r *reader) parseNew(fresh int) bool {
	isNew := func(i int) bool { return r.known[i] < 0 }
	src, err := parse(r.ctx, r.format, r.document(isNew))
	if err != nil || len(src.entries) != fresh {
		r.feed.Why = "a new item cannot be read as it stands"
		return false
	}
	r.src = src
	r.prepareItems()
	bases := make(map[string]bool, len(r.known))
	for _, k := range r.known {
		if k >= 0 {
			bases[r.mem.items[k].base] = true
		}
	}
	for n, i := range r.lay.order(isNew) {
		r.items[i] = r.item(i, &src.entries[n])
		base := r.items[i].key(ruleID)
		if bases[base] {
			r.feed.Why = "a new item has the identity of another"
			return false
		}
		bases[base] = true
	}
	return true
}

// readWhole parses everything.
func (r *reader) readWhole() error {
	r.feed.Whole = true
	n := len(r.lay.items)
	r.items = make([]*Item, n)
	every := func(int) bool { return true }
	src, err := parse(r.ctx, r.format, r.document(every))
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if err == nil && len(src.entries) == n {
		r.src = src
		r.prepareItems()
		for k, i := range r.lay.order(every) {
			r.items[i] = r.item(i, &src.entries[k])
		}
	} else if err := r.salvage(err); err != nil {
		return err
	}
	all := make([]Item, 0, n)
	for _, it := range r.items {
		if it != nil {
			all = append(all, *it)
		}
	}
	r.finish(needed(r.d.Rule, r.format, all))
	return nil
}

func (r *reader) warn(text string) {
	if text != "" && len(r.feed.Warnings) < maxWarnings {
		r.feed.Warnings = append(r.feed.Warnings, message("%s", text))
	}
}
