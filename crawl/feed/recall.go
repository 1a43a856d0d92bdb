package feed

import (
	"bytes"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// known says which items of a document are as they were in the last one. The scanner asks it before it reads an item, and
// passes over those that it knows: their bytes were scanned before, so the cost is that of a hash.
type known struct {
	mem     *memory
	next    int   // the one that should come next, for most keep their order
	numbers []int // for each item of the document its number in mem.items, -1
	byHash  map[uint64]int
	hashing int // bytes that may yet be hashed in vain: a big item that is gone would be looked for at each small one
}

// glance looks for the items that memory knows in the body as it came, without a look at its characters: those of known
// items are right, if the last document needed no repair. It reports whether that is all there is to do before reading
// what is new.
func (r *reader) glance(m *memory) bool {
	body := bytes.TrimPrefix(r.d.Body, []byte("\xef\xbb\xbf"))
	if m == nil || !m.plain || m.rule != r.d.Rule || byShape(r.d.Body) != nil || r.begin(body) != nil {
		return false
	}
	k := &known{mem: m, hashing: 4 * len(body)}
	odd, err := "", (*Error)(nil)
	if r.format == typeJSON {
		r.lay, odd, err = cutJSON(r.ctx, r.b, k)
	} else {
		r.lay, odd, err = cut(r.ctx, r.b, r.format, k)
	}
	if odd != "" || err != nil || r.headHash() != m.head || !r.cleanOutside(k, body) || r.format == typeJSON && !isJSONFeed(r.b, r.lay) {
		return false
	}
	r.feed.Count = len(r.lay.items)
	r.mem, r.head, r.plain = m, m.head, true
	r.hashes = make([]uint64, len(r.lay.items))
	for i, n := range k.numbers {
		if n >= 0 {
			r.hashes[i] = m.items[n].hash
		} else {
			r.hashes[i] = r.itemHash(i)
			k.numbers[i] = k.find(r.hashes[i])
		}
	}
	r.known = k.numbers
	return true
}

// cleanOutside reports whether the body beside the known items is valid UTF-8 without anything to be removed.
func (r *reader) cleanOutside(k *known, body []byte) bool {
	from, offset := 0, len(body)-len(r.b)
	clean := func(to int) bool {
		part := body[from:to]
		ascii, valid := survey(part)
		_, changed := scrub(part, ascii)
		return valid && !changed && (to == len(body) || utf8.Valid(part))
	}
	for i, n := range k.numbers {
		if n >= 0 {
			if !clean(offset + r.lay.items[i].start) {
				return false
			}
			from = offset + r.lay.items[i].end
		}
	}
	return clean(len(body))
}

// recall hashes the parts of a document that was prepared and finds those that memory knows.
func (r *reader) recall(m *memory) {
	r.feed.Count = len(r.lay.items)
	r.head = r.headHash()
	r.hashes = make([]uint64, len(r.lay.items))
	r.known = make([]int, len(r.lay.items))
	for i := range r.hashes {
		r.hashes[i] = r.itemHash(i)
		r.known[i] = -1
	}
	r.mem = nil
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
		k := &known{mem: m}
		for i, h := range r.hashes {
			r.known[i] = k.find(h)
		}
	}
}

func (r *reader) headHash() uint64 {
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
	return h.Sum64()
}

func (r *reader) itemHash(i int) uint64 {
	it := r.lay.items[i]
	return hashItem(it.of(r.b), r.lay.inChannel(it))
}

// hashItem hashes the bytes of an item and whether it stands in the channel, which may have a base of its own.
func hashItem(b []byte, inChannel bool) uint64 {
	h := xxhash.Sum64(b)
	if inChannel {
		h++
	}
	return h
}

// match gives the item that b begins with if it is the next or next but one of those that are known, else nil.
func (k *known) match(b []byte, inChannel bool) *remembered {
	for n := k.next; n < min(k.next+2, len(k.mem.items)); n++ {
		it := &k.mem.items[n]
		if !it.known || it.size > len(b) || it.size > k.hashing {
			continue
		}
		if hashItem(b[:it.size], inChannel) == it.hash {
			k.next = n + 1
			k.numbers = append(k.numbers, n)
			return it
		}
		k.hashing -= it.size
	}
	return nil
}

// find gives the number of the item of that hash, -1 if there is none.
func (k *known) find(hash uint64) int {
	for n := k.next; n < min(k.next+2, len(k.mem.items)); n++ {
		if k.mem.items[n].hash == hash && k.mem.items[n].known {
			k.next = n + 1
			return n
		}
	}
	if k.byHash == nil {
		k.byHash = make(map[uint64]int, len(k.mem.items))
		for n := range k.mem.items {
			if k.mem.items[n].known {
				k.byHash[k.mem.items[n].hash] = n
			}
		}
	}
	if n, ok := k.byHash[hash]; ok {
		k.next = n + 1
		return n
	}
	return -1
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
	if fresh > 0 && !r.parseNew() {
		return false
	}
	r.finish(r.mem.rule)
	return true
}

// unchanged is the result of a document whose items are all as they were.
func (r *reader) unchanged() {
	f := r.feed
	f.Rule = r.mem.rule
	f.Keys = make([]string, 0, len(r.mem.items))
	for i := range r.mem.items {
		if !r.mem.items[i].again {
			f.Keys = append(f.Keys, r.mem.items[i].key)
		}
	}
	r.describe(r.mem)
}

func (r *reader) parseNew() bool {
	isNew := func(i int) bool { return r.known[i] < 0 }
	bases := make(map[string]bool, len(r.known))
	ok := true
	for i, k := range r.known {
		if k >= 0 {
			bases[r.mem.items[k].base] = true
		} else if r.lay.tooLarge(i) {
			ok = false
		}
	}
	if ok {
		ok, _ = r.readItems(0, isNew)
	}
	if !ok {
		r.feed.Why = "a new item cannot be read as it stands"
		return false
	}
	for _, it := range r.items {
		if it == nil {
			continue
		}
		base := it.key(ruleID)
		if bases[base] {
			r.feed.Why = "a new item has the identity of another"
			return false
		}
		bases[base] = true
	}
	return true
}
