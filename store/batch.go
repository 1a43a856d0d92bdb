package store

import (
	"database/sql/driver"
	"strings"
)

// batch stores the items of one result.
type batch struct {
	*merge
	*tx
	feed           int64
	onlyNew        bool             // leave stored items as they are
	ids            map[string]int64 // by key, of the items of this batch
	added, updated int
	held           bool // the brake held back a text: not all of the document is stored
}

// store adds items that are not stored, and updates those that differ. Reading the stored hashes of the keys first costs half
// of writing each item on conflict.
func (b *batch) store(items []Item) error {
	if len(items) == 0 {
		return nil
	}
	known, err := b.lookUp(items)
	if err != nil {
		return err
	}
	firstItem := b.lastItem + 1
	for i := range items {
		it := &items[i]
		key := valid(it.Key)
		if _, twice := b.ids[key]; twice {
			continue // the reader gives one item a key
		}
		old, found := known[key]
		switch {
		case !found:
			err = b.insert(it, key)
		case b.onlyNew || old.hash == it.Hash:
			b.ids[key] = old.id
		default:
			err = b.update(it, key, old.id)
		}
		if err != nil {
			return err
		}
	}
	return b.logNew(firstItem)
}

// known is a stored item as far as it must be known to see whether it changed.
type known struct{ id, hash int64 }

// lookUpSize is how many keys one query takes; what is left over is filled up with NULL, which is no key.
const lookUpSize = 16

var lookUpQuery = `
	SELECT key, id, hash
	FROM items
	WHERE feed_id = ?
	  AND key IN (?` + strings.Repeat(", ?", lookUpSize-1) + `)`

// lookUp finds the items that are stored under the keys of a result.
func (b *batch) lookUp(items []Item) (map[string]known, error) {
	any, err := b.one("SELECT EXISTS (SELECT 1 FROM items WHERE feed_id = ?)", b.feed)
	if err != nil || any == 0 {
		return nil, err
	}
	found := make(map[string]known, len(items))
	args := make([]driver.Value, 1+lookUpSize)
	args[0] = b.feed
	for len(items) > 0 {
		n := min(len(items), lookUpSize)
		for i := range lookUpSize {
			args[1+i] = nil
			if i < n {
				args[1+i] = valid(items[i].Key)
			}
		}
		err := b.query(lookUpQuery, func(r row) error {
			found[r.text(0)] = known{r.int(1), r.int(2)}
			return nil
		}, args...)
		if err != nil {
			return nil, err
		}
		items = items[n:]
	}
	return found, nil
}

// insert adds an item under a key that is not stored. Its change is written by logNew.
func (b *batch) insert(it *Item, key string) error {
	b.lastItem++
	b.lastSeq++
	b.added++
	b.ids[key] = b.lastItem
	now := stamp(b.now)
	args := append(make([]driver.Value, 0, 7+len(itemColumns)), b.lastItem, b.feed, key, it.Hash, b.lastSeq, now, now)
	if err := b.run(insertItem, it.appendValues(args)...); err != nil {
		return err
	}
	return b.insertContent(b.lastItem, it)
}

var insertItem = `
	INSERT INTO items (id, feed_id, key, hash, seq, first_seen_at, changed_at, ` + strings.Join(itemColumns, ", ") + `)
	VALUES (?, ?, ?, ?, ?, ?, ?` + strings.Repeat(", ?", len(itemColumns)) + `)`

func (b *batch) insertContent(id int64, it *Item) error {
	if it.Summary == "" && it.Content == "" {
		return nil
	}
	return b.run("INSERT INTO contents (item_id, summary, content) VALUES (?, ?, ?)", id, text(it.Summary), text(it.Content))
}

// logNew logs the items added from first on.
func (b *batch) logNew(first int64) error {
	if b.lastItem < first {
		return nil
	}
	return b.run(`
		INSERT INTO changes (seq, at, item_id, feed_id, kind, columns)
		SELECT seq, first_seen_at, id, feed_id, 'new', '[]'
		FROM items
		WHERE id BETWEEN ? AND ?`,
		first, b.lastItem)
}
