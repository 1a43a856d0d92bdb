package store

import "database/sql/driver"

// position writes the positions of a ranked feed's items in one hour. What was there for this feed and hour is replaced. An
// unchanged feed has those of its last document.
func (t *tx) position(e *Entry, ids map[string]int64) error {
	r := &e.Result
	hour := stamp(r.Hour)
	if r.Outcome == Unchanged && len(r.Keys) == 0 {
		return t.repeatPositions(e.FeedID, hour)
	}
	if r.Outcome != Changed && r.Outcome != Unchanged {
		return nil
	}
	if err := t.run("DELETE FROM positions WHERE feed_id = ? AND hour = ?", e.FeedID, hour); err != nil {
		return err
	}
	known, err := t.itemIDs(e.FeedID, r.Keys, ids)
	if err != nil {
		return err
	}
	place := int64(0)
	for _, id := range known {
		place++
		err := t.run(`
			INSERT INTO positions (item_id, hour, feed_id, position)
			VALUES (?, ?, ?, ?)`,
			id, hour, e.FeedID, place)
		if err != nil {
			return err
		}
	}
	return nil
}

// repeatPositions copies the positions of a feed's newest hour that has any, unless that is this one.
func (t *tx) repeatPositions(feed int64, hour driver.Value) error {
	return t.run(`
		INSERT INTO positions (item_id, hour, feed_id, position)
		SELECT item_id, ?2, feed_id, position
		FROM positions
		WHERE feed_id = ?1
		  AND hour = (SELECT max(hour) FROM positions WHERE feed_id = ?1 AND hour <= ?2)
		  AND hour < ?2`,
		feed, hour)
}

// itemIDs finds the items of keys, each once, in their order; those that this merge has just stored are given. Of several posts
// under a reused key the newest is meant.
func (t *tx) itemIDs(feed int64, keys []string, given map[string]int64) ([]int64, error) {
	ids := make([]int64, 0, len(keys))
	seen := make(map[int64]bool, len(keys))
	for _, key := range keys {
		key = valid(key)
		id := given[key]
		if id == 0 {
			var err error
			id, err = t.one(`
				SELECT max(
					coalesce((SELECT id FROM items WHERE feed_id = ?1 AND key = ?2), 0),
					coalesce((SELECT max(id) FROM items
					          WHERE feed_id = ?1 AND key > ?2 || char(10) AND key < ?2 || char(11)), 0))`,
				feed, key)
			if err != nil {
				return nil, err
			}
		}
		if id != 0 && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}
