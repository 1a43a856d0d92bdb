package store

import (
	"context"
	"fmt"
	"time"
)

// NewFeed is a feed to be added.
type NewFeed struct {
	URL      string // normalized
	Title    string // "" : the feed's own will be used
	SiteURL  string
	Category string // "" : Uncategorized; created if missing
	Settings FeedSettings
}

// Added says what became of one NewFeed, in the same order. When New is false, ID is the feed that was already there.
type Added struct {
	ID       int64
	New      bool
	Category string // where it is
}

// AddFeeds adds feeds in one transaction. A URL that matches the present or a former URL of a feed is not added.
func (s *Store) AddFeeds(ctx context.Context, feeds []NewFeed, now time.Time) (added []Added, err error) {
	err = s.update(ctx, func(t *tx) error {
		added = make([]Added, 0, len(feeds))
		for _, f := range feeds {
			a, err := t.addFeed(f, now)
			if err != nil {
				return err
			}
			added = append(added, a)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("add feeds: %w", err)
	}
	return added, nil
}

func (t *tx) addFeed(f NewFeed, now time.Time) (Added, error) {
	f.URL = valid(f.URL)
	id, err := t.feedAt(f.URL)
	if err != nil {
		return Added{}, err
	}
	if id == 0 {
		return t.insertFeed(f, now)
	}
	a := Added{ID: id}
	err = t.query("SELECT c.name FROM categories c JOIN feeds f ON f.category_id = c.id WHERE f.id = ?", func(r row) error {
		a.Category = r.text(0)
		return nil
	}, id)
	return a, err
}

func (t *tx) insertFeed(f NewFeed, now time.Time) (Added, error) {
	category, err := t.categoryID(f.Category)
	if err != nil {
		return Added{}, err
	}
	settings, err := settingsText(f.Settings)
	if err != nil {
		return Added{}, err
	}
	id, err := t.one(`
		INSERT INTO feeds (category_id, url, own_title, site_url, settings, added_at)
		VALUES (?, ?, ?, ?, ?, ?)
		RETURNING id`,
		category, f.URL, text(f.Title), text(f.SiteURL), text(settings), stamp(now))
	return Added{ID: id, New: true, Category: CategoryName(f.Category)}, err
}
