package store

import (
	"database/sql/driver"
	"strings"
	"time"
)

// itemColumns are the columns of items that a source sets, and contentColumns those of contents. Their names are what
// changes.columns holds.
var (
	itemColumns = []string{
		"guid",
		"url",
		"title",
		"author",
		"published_at",
		"updated_at",
		"comments_url",
		"image_url",
		"language",
		"duration",
		"categories",
		"enclosures",
	}
	contentColumns = []string{"summary", "content"}
)

// appendValues appends an item's values in the order of itemColumns.
func (it *Item) appendValues(values []driver.Value) []driver.Value {
	return append(values,
		text(it.GUID),
		text(it.URL),
		text(it.Title),
		text(it.Author),
		stamp(it.PublishedAt),
		stamp(it.UpdatedAt),
		text(it.CommentsURL),
		text(it.ImageURL),
		text(it.Language),
		number(it.Duration),
		text(list(it.Categories)),
		text(list(it.Enclosures)))
}

// stored is a stored item: the values of itemColumns and contentColumns, and what the brake remembers.
type stored struct {
	values        []driver.Value
	textChanges   int64
	textChangedAt time.Time
}

func (s *stored) text(column int) string         { return row(s.values).text(column) }
func (s *stored) time(column int) (at time.Time) { return row(s.values).time(column) }

// Places in itemColumns.
const (
	guidColumn      = 0
	urlColumn       = 1
	titleColumn     = 2
	publishedColumn = 4
	updatedColumn   = 5
)

var selectStored = `
	SELECT ` + strings.Join(itemColumns, ", ") + `,
	       summary,
	       content,
	       text_changes,
	       text_changed_at
	FROM items
	LEFT JOIN contents ON item_id = id
	WHERE id = ?`

func (t *tx) stored(id int64) (s stored, err error) {
	n := len(itemColumns) + len(contentColumns)
	err = t.query(selectStored, func(r row) error {
		s = stored{append([]driver.Value(nil), r[:n]...), r.int(n), r.time(n + 1)}
		return nil
	}, id)
	return s, err
}

// update brings a stored item to what its source now says, and writes no more than what differs. A post that took over the id of
// another one gets a row of its own.
func (b *batch) update(it *Item, key string, id int64) error {
	old, err := b.stored(id)
	if err != nil {
		return err
	}
	if !old.reusedBy(it) {
		b.ids[key] = id
		return b.change(it, id, &old)
	}
	own := key + "\n" + withoutScheme(valid(it.URL))
	id, err = b.one("SELECT id FROM items WHERE feed_id = ? AND key = ?", b.feed, own)
	if err != nil {
		return err
	}
	if id == 0 {
		err = b.insert(it, own)
		b.ids[key] = b.lastItem
		return err
	}
	if old, err = b.stored(id); err != nil {
		return err
	}
	b.ids[key] = id
	return b.change(it, id, &old)
}

// reusedBy says whether it is another post under a reused guid: link, title and a newer date all differ. A link that went from
// http to https is the same link.
func (s *stored) reusedBy(it *Item) bool {
	return it.GUID != "" && s.text(guidColumn) == valid(it.GUID) &&
		it.URL != "" && s.text(urlColumn) != "" && withoutScheme(s.text(urlColumn)) != withoutScheme(valid(it.URL)) &&
		it.Title != "" && s.text(titleColumn) != "" && s.text(titleColumn) != valid(it.Title) &&
		!s.time(publishedColumn).IsZero() && it.PublishedAt.After(s.time(publishedColumn))
}

func withoutScheme(url string) string {
	if rest, ok := strings.CutPrefix(url, "https:"); ok {
		return rest
	}
	return strings.TrimPrefix(url, "http:")
}

// change writes the columns in which a stored item differs, and logs their names. A hash that differs by itself is written
// without a word.
func (b *batch) change(it *Item, id int64, old *stored) error {
	values := append(it.appendValues(nil), text(it.Summary), text(it.Content))
	columns := append(append([]string(nil), itemColumns...), contentColumns...)
	var names []string
	var args []driver.Value
	ofItem := 0
	for i, v := range values {
		if v == old.values[i] {
			continue
		}
		if i < len(itemColumns) {
			ofItem++
		}
		names, args = append(names, columns[i]), append(args, v)
	}
	if len(names) == 0 {
		return b.run("UPDATE items SET hash = ? WHERE id = ?", it.Hash, id)
	}
	brake, ok := old.brake(it, ofItem == 0, b.now)
	if !ok {
		b.held = true
		return nil
	}
	b.lastSeq++
	b.updated++
	sets := append(append([]string(nil), names[:ofItem]...), "hash", "seq", "changed_at")
	setArgs := append(append([]driver.Value(nil), args[:ofItem]...), it.Hash, b.lastSeq, stamp(b.now))
	if brake != nil {
		sets, setArgs = append(sets, "text_changes", "text_changed_at"), append(setArgs, brake...)
	}
	err := b.run("UPDATE items SET "+strings.Join(sets, " = ?, ")+" = ? WHERE id = ?", append(setArgs, id)...)
	if err != nil {
		return err
	}
	if ofItem < len(names) {
		if err := b.changeContent(id, it); err != nil {
			return err
		}
	}
	return b.run(`
		INSERT INTO changes (seq, at, item_id, feed_id, kind, columns)
		VALUES (?, ?, ?, ?, 'updated', ?)`,
		b.lastSeq, stamp(b.now), id, b.feed, list(names))
}

func (b *batch) changeContent(id int64, it *Item) error {
	return b.run(`
		INSERT INTO contents (item_id, summary, content)
		VALUES (?, ?, ?)
		ON CONFLICT (item_id) DO UPDATE SET summary = excluded.summary, content = excluded.content`,
		id, text(it.Summary), text(it.Content))
}

// brakeAfter is how many changes of text alone are let through before the brake holds; then one a day is.
const brakeAfter = 24

// brake holds back text that changes at every visit, such as one with a clock in it. It returns the new values of text_changes
// and text_changed_at, nil if they stay; and false if the change is not to be stored.
func (s *stored) brake(it *Item, textOnly bool, now time.Time) ([]driver.Value, bool) {
	if !textOnly || roundDown(it.UpdatedAt).After(s.time(updatedColumn)) {
		if s.textChanges == 0 {
			return nil, true
		}
		return []driver.Value{int64(0), nil}, true
	}
	since := now.Sub(s.textChangedAt)
	if s.textChanges >= brakeAfter && since >= 0 && since < 24*time.Hour {
		return nil, false
	}
	return []driver.Value{s.textChanges + 1, stamp(now)}, true
}

func roundDown(t time.Time) time.Time { return t.Truncate(time.Second) }
