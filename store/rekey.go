package store

import (
	"errors"
	"strconv"
)

// rekeyed is a stored item whose key is to follow another rule.
type rekeyed struct {
	id  int64
	new string
}

// rekey gives a feed's items the keys of another identity rule, before the items of a document under that rule are compared with
// them: else all of them would be new. Where two get the same key, the one that was there first has it, and the other is kept
// as a post under a reused id is.
func (m *merge) rekey(t *tx, e *Entry, c current) error {
	rule := e.Result.Feed.KeyRule
	if rule == 0 || rule == c.keyRule || c.keyRule == 0 {
		return nil
	}
	if m.o.Key == nil {
		return errors.New("no function that makes keys was given")
	}
	items, err := t.newKeys(e.FeedID, func(guid, url, title, text string) string {
		return valid(m.o.Key(rule, guid, url, title, text))
	})
	if err != nil {
		return err
	}
	// In two steps, so that no two rows have the same key in between.
	for _, it := range items {
		if err := t.run("UPDATE items SET key = ? WHERE id = ?", "\n"+strconv.FormatInt(it.id, 10), it.id); err != nil {
			return err
		}
	}
	for _, it := range items {
		if err := t.run("UPDATE items SET key = ? WHERE id = ?", it.new, it.id); err != nil {
			return err
		}
	}
	return t.run("UPDATE feeds SET key_rule = ? WHERE id = ?", int64(rule), e.FeedID)
}

// newKeys returns the feed's items whose key changes, in the order in which they were first seen.
func (t *tx) newKeys(feed int64, key func(guid, url, title, text string) string) ([]rekeyed, error) {
	var items []rekeyed
	taken := map[string]bool{}
	err := t.query(`
		SELECT id, key, guid, url, title, coalesce(content, summary)
		FROM items
		LEFT JOIN contents ON item_id = id
		WHERE feed_id = ?
		ORDER BY id`,
		func(r row) error {
			old, url := r.text(1), r.text(3)
			it := rekeyed{r.int(0), key(r.text(2), url, r.text(4), r.text(5))}
			if taken[it.new] {
				it.new += "\n" + withoutScheme(url)
			}
			if taken[it.new] {
				it.new += "\n" + strconv.FormatInt(it.id, 10)
			}
			taken[it.new] = true
			if it.new != old {
				items = append(items, it)
			}
			return nil
		}, feed)
	return items, err
}
