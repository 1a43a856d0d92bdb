package store

import "time"

// current is what must be known of a feed's row before a result is applied to it.
type current struct {
	exists              bool
	url                 string
	leaseToken          int64
	mergedToken         int64
	keyRule             int
	consecutiveFailures int
	failedHour          time.Time
	etag                string
	lastModified        string
	validatorsURL       string
	bodyHash            int64
	schedule            string
}

func (t *tx) current(feed int64) (c current, err error) {
	err = t.query(`
		SELECT url,
		       lease_token,
		       merged_token,
		       key_rule,
		       consecutive_failures,
		       failed_hour,
		       etag,
		       last_modified,
		       validators_url,
		       body_hash,
		       schedule
		FROM feeds
		WHERE id = ?`,
		func(r row) error {
			c = current{
				exists:              true,
				url:                 r.text(0),
				leaseToken:          r.int(1),
				mergedToken:         r.int(2),
				keyRule:             int(r.int(3)),
				consecutiveFailures: int(r.int(4)),
				failedHour:          r.time(5),
				etag:                r.text(6),
				lastModified:        r.text(7),
				validatorsURL:       r.text(8),
				bodyHash:            r.int(9),
				schedule:            r.text(10),
			}
			return nil
		}, feed)
	return c, err
}

// takes says whether a result is applied: fencing is by token alone.
func (c current) takes(e *Entry) bool {
	return c.exists && c.url == e.URL && c.leaseToken == e.Token && c.mergedToken < e.Token
}

// apply merges one result, within a savepoint: items and their changes first, then positions, item hashes, and the feed's row.
//
// Where the brake held a text back, the feed keeps the validators and item hashes of its last document that is stored whole: the
// next GET brings this text again, until it is stored or gone. If another item was updated meanwhile, not even they hold for what is
// stored: the next document is fetched and compared as if none were known.
func (m *merge) apply(t *tx, e *Entry) error {
	c, err := t.current(e.FeedID)
	if err != nil {
		return err
	}
	if !c.takes(e) {
		return m.stale(t, e, c)
	}
	r, state := &e.Result, e.Result.Feed
	if err := m.rekey(t, e, c); err != nil {
		return err
	}
	batch := &batch{merge: m, tx: t, feed: e.FeedID, ids: map[string]int64{}}
	if err := batch.store(r.Items); err != nil {
		return err
	}
	if batch.added+batch.updated > 0 {
		state.LastChangedAt = r.at(m.now)
	}
	if r.Ranked {
		if err := t.position(e, batch.ids); err != nil {
			return err
		}
	}
	switch {
	case batch.held && (batch.updated > 0 || state.KeyRule != c.keyRule):
		state.ETag, state.LastModified, state.ValidatorsURL, state.BodyHash = "", "", "", 0
	case batch.held:
		state.ETag, state.LastModified, state.ValidatorsURL, state.BodyHash = c.etag, c.lastModified, c.validatorsURL, c.bodyHash
	case len(r.Document) > 0:
		if err := t.writeDocument(e.FeedID, r.Document); err != nil {
			return err
		}
	}
	if state.URL != e.URL {
		if err := t.redirect(e, &state); err != nil {
			return err
		}
	}
	if _, err := m.writeFeed(t, e, &state); err != nil {
		return err
	}
	m.Applied++
	m.New += batch.added
	m.Updated += batch.updated
	if state.Status == "stopped" {
		m.Stopped++
	}
	return m.writeFetch(t, e, batch)
}

// at is when the result came.
func (r *Result) at(now time.Time) time.Time {
	if r.At.IsZero() {
		return now
	}
	return r.At
}

// stale is a result that came too late: another process has claimed the feed since, a person has changed it, or the result was
// merged before. It may still add items that are not stored; it touches nothing else.
func (m *merge) stale(t *tx, e *Entry, c current) error {
	r := &e.Result
	if !c.exists || c.url != e.URL || len(r.Items) == 0 || r.Feed.KeyRule == 0 {
		return nil
	}
	if c.keyRule == 0 {
		// The first items of this feed: whoever comes next must know by which rule their keys were made.
		if err := t.run("UPDATE feeds SET key_rule = ? WHERE id = ?", int64(r.Feed.KeyRule), e.FeedID); err != nil {
			return err
		}
	} else if c.keyRule != r.Feed.KeyRule {
		return nil // keys of another rule would come in as new items
	}
	batch := &batch{merge: m, tx: t, feed: e.FeedID, ids: map[string]int64{}, onlyNew: true}
	if err := batch.store(r.Items); err != nil {
		return err
	}
	m.New += batch.added
	return nil
}

// writeDocument stores the packed item hashes of the last document that is stored whole.
func (t *tx) writeDocument(feed int64, hashes []byte) error {
	return t.run(`
		INSERT INTO documents (feed_id, item_hashes)
		VALUES (?, ?)
		ON CONFLICT (feed_id) DO UPDATE SET item_hashes = excluded.item_hashes`,
		feed, hashes)
}
