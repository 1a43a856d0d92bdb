package feed

import (
	"bytes"
	"cmp"
	"fmt"
	"time"
)

// group is the items of a document that have one key.
type group struct {
	winner int  // the number of the one that is stored
	mixed  bool // they are not all the same bytes
}

// finish gives the items their keys, chooses among those that share one, and fills in the feed.
func (r *reader) finish(rule int) {
	f := r.feed
	f.Rule = rule
	next := memory{rule: rule, plain: r.plain, head: r.head, items: make([]remembered, len(r.hashes))}
	groups := make(map[string]*group, len(r.hashes))
	all := make([]group, len(r.hashes))
	for i := range r.hashes {
		m := &next.items[i]
		switch it := r.items[i]; {
		case it != nil:
			it.Key = it.key(rule)
			m.key, m.base, m.known = it.Key, it.key(ruleID), true
		case r.known[i] >= 0 && r.mem != nil && !f.Whole:
			*m = r.mem.items[r.known[i]]
		}
		m.hash, m.size, m.cost = r.hashes[i], r.lay.items[i].end-r.lay.items[i].start, r.lay.costs[i]
		if !m.known {
			continue
		}
		g := groups[m.key]
		if m.again = g != nil; !m.again {
			all[i].winner = i
			groups[m.key] = &all[i]
			f.Keys = append(f.Keys, m.key)
			continue
		}
		g.mixed = g.mixed || m.hash != r.hashes[g.winner]
		if w := r.items[g.winner]; r.items[i] != nil && (w == nil || newer(r.items[i], w)) {
			g.winner = i
		}
	}
	for i := range next.items {
		m := &next.items[i]
		if !m.known {
			continue
		}
		m.shared = groups[m.key].mixed
		if r.items[i] != nil && groups[m.key].winner == i && !r.stored(i, m) {
			f.Items = append(f.Items, *r.items[i])
		}
	}
	r.feedFields(&next)
	if f.Memory = next.pack(); bytes.Equal(f.Memory, r.d.Memory) {
		f.Memory = nil
	}
}

// stored reports whether an item that was parsed again is in the store as it is.
func (r *reader) stored(i int, m *remembered) bool {
	if r.mem == nil || r.known[i] < 0 {
		return false
	}
	was := &r.mem.items[r.known[i]]
	return !was.shared && was.key == m.key
}

// feedFields fills in what concerns the feed itself: from what was parsed, else from memory.
func (r *reader) feedFields(next *memory) {
	if src := r.src; src != nil {
		next.title = plainText(src.title, guess, maxTitle)
		next.site = r.links.resolve(r.siteBase, src.link)
		next.image = r.links.resolve(cmp.Or(r.channelBase, r.siteBase), src.image)
		next.language = plainText(src.language, plain, maxName)
		next.interval = src.interval
		next.hours, next.days = skipHours(src.skipHours), skipDays(src.skipDays)
	} else if r.mem != nil {
		next.title, next.site, next.image, next.language = r.mem.title, r.mem.site, r.mem.image, r.mem.language
		next.interval, next.hours, next.days = r.mem.interval, r.mem.hours, r.mem.days
	}
	if r.links.full() {
		r.warn("relative addresses were left out, for they would become too long in all")
	}
	if r.spare {
		r.warn(fmt.Sprintf("an item has more than %d enclosures or categories, the rest was left out", maxDetails))
	}
	r.describe(next)
}

// describe gives the feed's own fields, as they are remembered; ttl is read anew, for it may move alone.
func (r *reader) describe(next *memory) {
	f := r.feed
	f.Title, f.SiteURL, f.ImageURL, f.Language = next.title, next.site, next.image, next.language
	f.Hints.Interval = max(next.interval, timeToLive(unescape(r.lay.ttl.of(r.b))))
	for h := range 24 {
		if next.hours>>h&1 == 1 {
			f.Hints.SkipHours = append(f.Hints.SkipHours, h)
		}
	}
	for d := range 7 {
		if next.days>>d&1 == 1 {
			f.Hints.SkipDays = append(f.Hints.SkipDays, time.Weekday(d))
		}
	}
}
