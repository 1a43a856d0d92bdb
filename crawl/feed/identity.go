package feed

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/cespare/xxhash/v2"
)

// An identity rule is a sum. A feed begins with ruleID alone, and what one of its documents shows adds the others, for
// good; so the order in which documents come does not matter.
const (
	ruleID    = 1 << iota // id, else link, else a hash of title and text
	ruleLink              // one id stands for several links: id and link
	ruleTitle             // one id and link stand for several titles (RSS): id and title
	ruleBare              // one link stands for several items without id: link and title
	ruleMask  = ruleID | ruleLink | ruleTitle | ruleBare
)

const (
	maxKey    = 1 << 10 // bytes
	keyPrefix = 200     // bytes of a long or composed key that stay readable
)

// Key derives the identity of a stored item under a rule, for re-keying when a feed changes its rule. text is the item's
// content, or its summary where there is none.
func Key(rule int, guid, url, title, text string) string {
	switch {
	case guid != "":
		base := secure(guid)
		if rule&(ruleLink|ruleTitle) == 0 {
			return bound(base)
		}
		parts := []string{"id", base, "", ""}
		if rule&ruleLink != 0 {
			parts[2] = secure(url)
		}
		if rule&ruleTitle != 0 {
			parts[3] = title
		}
		return compose(base, parts...)
	case url != "":
		base := secure(url)
		if rule&ruleBare == 0 {
			return bound(base)
		}
		return compose(base, "link", base, title)
	}
	return compose("", "text", title, text)
}

// bound replaces the end of a long key by a hash.
func bound(key string) string {
	if len(key) <= maxKey {
		return key
	}
	return compose(key, "long", key)
}

// compose makes a key of several parts: the beginning of the first for people, and a hash of all.
func compose(prefix string, parts ...string) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	return clip(prefix, keyPrefix) + "#" + hex.EncodeToString(h.Sum(nil)[:16])
}

func (it *Item) text() string {
	if it.Content != "" {
		return it.Content
	}
	return it.Summary
}

func (it *Item) key(rule int) string {
	return Key(rule, it.GUID, it.URL, it.Title, it.text())
}

// hash covers everything whose change makes an item "updated".
func (it *Item) hash() int64 {
	h := xxhash.New()
	for _, s := range []string{it.Title, it.URL, it.Author, it.Summary, it.Content, it.CommentsURL, it.ImageURL, it.Language} {
		hashString(h, s)
	}
	hashNumber(h, int64(it.Duration))
	hashNumber(h, it.PublishedAt.Unix())
	hashNumber(h, it.UpdatedAt.Unix())
	hashNumber(h, int64(len(it.Categories)))
	for _, c := range it.Categories {
		hashString(h, c)
	}
	for _, e := range it.Enclosures {
		hashString(h, e.URL)
		hashString(h, e.Type)
		hashNumber(h, e.Length)
	}
	return int64(h.Sum64())
}

// needed gives the rule that tells the items of one document apart: what each id or link that they share calls for. It
// does not depend on the order of the items: what tells any two apart tells one of them from the first that has an id, or
// the first that has none.
func needed(rule int, format string, items []Item) int {
	type firsts struct{ named, bare *Item }
	rule = rule&ruleMask | ruleID
	of := make([]*firsts, len(items))
	for {
		before := rule
		byKey := make(map[string]*firsts, len(items))
		for i := range items {
			it, key := &items[i], items[i].key(before)
			if of[i] = byKey[key]; of[i] == nil {
				of[i] = &firsts{}
				byKey[key] = of[i]
			}
			if it.GUID != "" {
				of[i].named = cmp.Or(of[i].named, it)
			} else {
				of[i].bare = cmp.Or(of[i].bare, it)
			}
		}
		for i := range items {
			for _, other := range []*Item{of[i].named, of[i].bare} {
				if other != nil && other != &items[i] {
					rule |= apart(other, &items[i], format)
				}
			}
		}
		if rule == before {
			return rule
		}
	}
}

// apart says what tells two items of the same base key apart; nothing if they are one item.
func apart(a, b *Item, format string) int {
	switch {
	case a.GUID == "" && a.URL == "":
		return 0
	case a.GUID == "" || b.GUID == "":
		if a.Title != b.Title {
			return ruleBare
		}
		return 0
	case secure(a.URL) != secure(b.URL):
		return ruleLink
	case a.Title != b.Title && (format == typeRSS || format == typeRDF):
		return ruleTitle
	}
	return 0
}

// newer reports whether a replaces b where a document has one item twice: the later update wins, and without one the
// choice does not depend on their order.
func newer(a, b *Item) bool {
	if x, y := latest(a), latest(b); x != y {
		return x > y
	}
	if a.Hash != b.Hash {
		return a.Hash > b.Hash
	}
	return a.GUID > b.GUID
}

func latest(it *Item) int64 {
	if it.UpdatedAt.IsZero() {
		return it.PublishedAt.Unix()
	}
	return it.UpdatedAt.Unix()
}
