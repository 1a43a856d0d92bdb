package store

// position writes the positions of a ranked feed's items in one hour. What was there for this feed and hour is replaced.
func (t *tx) position(e *Entry, ids map[string]int64) error {
	r := &e.Result
	hour := stamp(r.Hour)
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
