package feed

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"
)

// memory is what is kept of a document to read only what is new in the next: see Feed.Memory.
type memory struct {
	rule                         int
	plain                        bool   // the document was read as it came, without repair
	head                         uint64 // hash of all that stands outside the items
	title, site, image, language string
	interval                     time.Duration // without ttl, which is read anew
	hours, days                  uint64        // bits of skipHours and skipDays
	items                        []remembered
	shared                       int // how many of them are; counted anew by unpack
}

// remembered is an item of the last document, the losers of repeated ids included.
type remembered struct {
	hash   uint64
	size   int    // in bytes
	cost   cost   // to the limits of structure
	base   string // its key under ruleID
	key    string
	shared bool // another item of the document, of other bytes, had the same key
	again  bool // an earlier item of the document had the same key
	known  bool // it was read: items that could not be are tried again
}

const memoryFormat = 1

// pack encodes m: format, checksum, then numbers as varints and strings with their length.
func (m *memory) pack() []byte {
	b := make([]byte, 9, 64+len(m.items)*48)
	b[0] = memoryFormat
	b = binary.AppendUvarint(b, uint64(m.rule)<<1|bit(m.plain))
	b = binary.LittleEndian.AppendUint64(b, m.head)
	for _, s := range []string{m.title, m.site, m.image, m.language} {
		b = appendString(b, s)
	}
	for _, n := range []uint64{uint64(m.interval / time.Second), m.hours, m.days, uint64(len(m.items))} {
		b = binary.AppendUvarint(b, n)
	}
	for i := range m.items {
		it := &m.items[i]
		b = binary.LittleEndian.AppendUint64(b, it.hash)
		b = binary.AppendUvarint(b, uint64(it.size))
		b = binary.AppendUvarint(b, uint64(it.cost.elements))
		b = binary.AppendUvarint(b, uint64(it.cost.spaces))
		flags := bit(it.shared) | bit(it.known)<<1 | bit(it.key != it.base)<<2 | bit(it.again)<<3
		b = appendString(append(b, byte(flags)), it.base)
		if flags&4 != 0 {
			b = appendString(b, it.key)
		}
	}
	binary.LittleEndian.PutUint64(b[1:], xxhash.Sum64(b[9:]))
	return b
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// unpack decodes what pack made; nil for anything else.
func unpack(b []byte) *memory {
	if len(b) < 9 || b[0] != memoryFormat || binary.LittleEndian.Uint64(b[1:]) != xxhash.Sum64(b[9:]) {
		return nil
	}
	r := unpacker{b: b[9:], s: string(b[9:])}
	rule := r.number()
	m := &memory{rule: int(rule >> 1), plain: rule&1 == 1, head: r.fixed()}
	m.title, m.site, m.image, m.language = r.text(), r.text(), r.text(), r.text()
	m.interval = time.Duration(r.number()) * time.Second
	m.hours, m.days = r.number(), r.number()
	n := r.number()
	if r.bad || n > maxItems {
		return nil
	}
	m.items = make([]remembered, n)
	for i := range m.items {
		it := &m.items[i]
		it.hash, it.size = r.fixed(), r.small()
		it.cost = cost{r.small(), r.small()}
		flags := r.flags()
		if it.shared, it.known = flags&1 != 0, flags&2 != 0; it.shared {
			m.shared++
		}
		it.again = flags&8 != 0
		it.base = r.text()
		if it.key = it.base; flags&4 != 0 {
			it.key = r.text()
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil
	}
	return m
}

// unpacker reads from the front of b; s is the same as a string, so that texts need no copy each.
type unpacker struct {
	b   []byte
	s   string
	bad bool
}

func (r *unpacker) take(n int) {
	if n < 0 || n > len(r.b) {
		r.bad, n = true, len(r.b)
	}
	r.b, r.s = r.b[n:], r.s[n:]
}

func (r *unpacker) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.take(n)
	return v
}

// small is a number that a size or a count can be.
func (r *unpacker) small() int {
	v := r.number()
	if v > 1<<31-1 {
		r.bad = true
		return 0
	}
	return int(v)
}

func (r *unpacker) fixed() uint64 {
	if len(r.b) < 8 {
		r.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.take(8)
	return v
}

func (r *unpacker) flags() byte {
	if len(r.b) < 1 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.take(1)
	return v
}

func (r *unpacker) text() string {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := r.s[:n]
	r.take(int(n))
	return s
}

// Keys gives back Feed.Keys of the document that a Memory is of; nil for anything else.
func Keys(memory []byte) []string {
	m := unpack(memory)
	if m == nil {
		return nil
	}
	var keys []string
	for i := range m.items {
		if it := &m.items[i]; it.known && !it.again {
			keys = append(keys, it.key)
		}
	}
	return keys
}
