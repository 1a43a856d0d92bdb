package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"time"
)

// ItemRow is a stored item, as far as it is shown, with its feed's URL and title (what a person called it, else what it calls
// itself) and its last change.
type ItemRow struct {
	Seq                    int64
	Kind                   string // new, updated, removed
	Columns                []string
	ID, FeedID             int64
	FeedURL, FeedTitle     string
	Key, GUID, URL         string
	Title, Author          string
	PublishedAt, UpdatedAt time.Time
	FirstSeenAt, ChangedAt time.Time
	Summary, Content       string
	Categories             []string
	Enclosures             []Enclosure
}

// ItemFilter chooses items. After >= 0 with ByChange: changes above that seq, in order of seq; else newest first.
type ItemFilter struct {
	ByChange bool
	After    int64
	Since    time.Time // first_seen_at or changed_at not before
	Category string
	FeedIDs  []int64 // none: all feeds
	Limit    int
}

// Items yields items; a removed change has only Seq, Kind, ID and FeedID.
//
// With ByChange, an earlier change of an item that is gone by now is left out: its removal comes. The other changes carry the
// item as it is now. With Category, the removals of all feeds that are gone themselves come, too: which category they were in nobody
// knows, and who follows one category must learn of its own.
func (s *Store) Items(ctx context.Context, f ItemFilter) iter.Seq2[ItemRow, error] {
	return func(yield func(ItemRow, error) bool) {
		stopped := false
		err := s.view(ctx, func(t *tx) error {
			query, args := f.query()
			begun := false
			err := t.query(query, func(r row) error {
				begun = true
				it, err := scanItem(r)
				if err != nil {
					return fmt.Errorf("item %d: %w", it.ID, err)
				}
				if stopped = !yield(it, nil); stopped {
					return errStop
				}
				return nil
			}, args...)
			if begun && isBusy(err) {
				err = fmt.Errorf("interrupted: %v", err) // no new try from the beginning
			}
			return err
		})
		if err != nil && !stopped {
			yield(ItemRow{}, fmt.Errorf("read items: %w", err))
		}
	}
}

const itemRowColumns = `
	i.id,
	i.feed_id,
	f.url,
	i.key,
	i.first_seen_at,
	i.changed_at,
	i.published_at,
	i.updated_at,
	i.guid,
	i.url,
	i.title,
	i.author,
	i.categories,
	i.enclosures,
	t.summary,
	t.content,
	coalesce(f.own_title, f.title)`

// query returns the statement for a filter, and its arguments.
func (f ItemFilter) query() (string, []driver.Value) {
	if f.ByChange {
		return f.byChange()
	}
	return f.newestFirst()
}

func (f ItemFilter) byChange() (string, []driver.Value) {
	where, args := f.conditions("c.feed_id", "c.at")
	args = append(args, f.After)
	query := `
		SELECT c.seq, c.kind, c.columns, c.item_id, c.feed_id, ` + itemRowColumns + `
		FROM changes c
		LEFT JOIN items i ON i.id = c.item_id
		LEFT JOIN feeds f ON f.id = i.feed_id
		LEFT JOIN contents t ON t.item_id = i.id
		WHERE ` + where + `
		  AND c.seq > ?
		  AND (i.id IS NOT NULL OR c.kind = 'removed')
		ORDER BY c.seq`
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, int64(f.Limit))
	}
	return query, args
}

// newestFirst never sorts more whole items than those of one feed: with a limit the ids are chosen first, without one a
// category's items are read in the order in which they are stored (which the + before feed_id sees to).
func (f ItemFilter) newestFirst() (string, []driver.Value) {
	feed := "i.feed_id"
	if f.Limit <= 0 && len(f.FeedIDs) != 1 {
		feed = "+i.feed_id"
	}
	where, args := f.conditions(feed, "i.changed_at")
	if f.Limit > 0 {
		where = "i.id IN (SELECT i.id FROM items i WHERE " + where + " ORDER BY i.id DESC LIMIT ?)"
		args = append(args, int64(f.Limit))
	}
	return `
		SELECT i.seq, c.kind, c.columns, i.id, i.feed_id, ` + itemRowColumns + `
		FROM items i
		LEFT JOIN changes c ON c.seq = i.seq
		LEFT JOIN feeds f ON f.id = i.feed_id
		LEFT JOIN contents t ON t.item_id = i.id
		WHERE ` + where + `
		ORDER BY i.id DESC`, args
}

// conditions are those on the feed and on the time, given the columns that hold them.
func (f ItemFilter) conditions(feed, at string) (string, []driver.Value) {
	where, args := "1", []driver.Value{}
	if !f.Since.IsZero() {
		where, args = where+" AND "+at+" >= ?", append(args, stampUp(f.Since))
	}
	switch len(f.FeedIDs) {
	case 0:
	case 1:
		where, args = where+" AND "+feed+" = ?", append(args, f.FeedIDs[0])
	default:
		where, args = where+" AND "+feed+" IN (SELECT value FROM json_each(?))", append(args, idList(f.FeedIDs))
	}
	if f.Category != "" {
		in := feed + ` IN (SELECT m.id FROM feeds m JOIN categories g ON g.id = m.category_id WHERE g.name = ?)`
		if f.ByChange {
			in = "(" + in + " OR c.kind = 'removed' AND NOT EXISTS (SELECT 1 FROM feeds g WHERE g.id = c.feed_id))"
		}
		where, args = where+" AND "+in, append(args, f.Category)
	}
	return where, args
}

func scanItem(r row) (ItemRow, error) {
	it := ItemRow{Seq: r.int(0), Kind: r.text(1), ID: r.int(3), FeedID: r.int(4)}
	if it.Kind == "removed" {
		return it, nil
	}
	it.FeedURL, it.Key = r.text(7), r.text(8)
	it.FirstSeenAt, it.ChangedAt, it.PublishedAt, it.UpdatedAt = r.time(9), r.time(10), r.time(11), r.time(12)
	it.GUID, it.URL, it.Title, it.Author = r.text(13), r.text(14), r.text(15), r.text(16)
	it.Summary, it.Content, it.FeedTitle = r.text(19), r.text(20), r.text(21)
	if err := r.json(2, &it.Columns); err != nil {
		return it, err
	}
	if err := r.json(17, &it.Categories); err != nil {
		return it, err
	}
	return it, r.json(18, &it.Enclosures)
}
