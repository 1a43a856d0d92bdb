package store

import (
	"context"
	"fmt"
	"time"
)

// FeedEdit changes what is not nil. A new URL raises lease_token, clears the validators and makes the feed due at once; a new
// category makes it due at once. ErrExists if another feed has the URL.
type FeedEdit struct {
	URL, Title, Category *string
	Settings             *FeedSettings
}

// EditFeed changes a feed by hand. ErrNotFound if there is none with this id.
func (s *Store) EditFeed(ctx context.Context, id int64, e FeedEdit, now time.Time) error {
	err := s.update(ctx, func(t *tx) error {
		n, err := t.one("SELECT count(*) FROM feeds WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		return t.editFeed(id, e)
	})
	if err != nil {
		return fmt.Errorf("edit feed %d: %w", id, err)
	}
	return nil
}

func (t *tx) editFeed(id int64, e FeedEdit) error {
	if e.URL != nil {
		if err := t.moveFeed(id, *e.URL); err != nil {
			return err
		}
	}
	if e.Title != nil {
		if err := t.run("UPDATE feeds SET own_title = ? WHERE id = ?", text(*e.Title), id); err != nil {
			return err
		}
	}
	if e.Category != nil {
		category, err := t.categoryID(*e.Category)
		if err != nil {
			return err
		}
		err = t.run("UPDATE feeds SET category_id = ?1, next_fetch_at = NULL WHERE id = ?2 AND category_id <> ?1", category, id)
		if err != nil {
			return err
		}
	}
	if e.Settings != nil {
		settings, err := settingsText(*e.Settings)
		if err != nil {
			return err
		}
		return t.run("UPDATE feeds SET settings = ? WHERE id = ?", text(settings), id)
	}
	return nil
}

// moveFeed gives a feed another URL by hand: all that was remembered of the old one's answers is void, and so is a fetch under
// way. Giving it the URL that it has changes nothing.
func (t *tx) moveFeed(id int64, url string) error {
	url = valid(url)
	other, err := t.one("SELECT id FROM feeds WHERE url = ?", url)
	if err != nil || other == id {
		return err
	}
	if other != 0 {
		return fmt.Errorf("feed %d has that URL: %w", other, ErrExists)
	}
	if err := t.rename(id, url); err != nil {
		return err
	}
	if err := t.run("DELETE FROM documents WHERE feed_id = ?", id); err != nil {
		return err
	}
	return t.run(`
		UPDATE feeds
		SET etag = NULL,
		    last_modified = NULL,
		    validators_url = NULL,
		    body_hash = NULL,
		    interval_seconds = NULL,
		    redirect_url = NULL,
		    redirect_seen = 0,
		    redirect_since = NULL,
		    retry_after_until = NULL,
		    next_fetch_at = NULL,
		    lease_owner = NULL,
		    lease_boot = NULL,
		    lease_until = NULL,
		    lease_token = lease_token + 1
		WHERE id = ?`, id)
}

// rename changes a feed's URL to one that no feed has, and remembers the old one.
func (t *tx) rename(id int64, url string) error {
	if err := t.run("DELETE FROM former_urls WHERE url = ?", url); err != nil {
		return err
	}
	err := t.run(`
		INSERT INTO former_urls (url, feed_id)
		SELECT url, id FROM feeds WHERE id = ?
		ON CONFLICT (url) DO UPDATE SET feed_id = excluded.feed_id`, id)
	if err != nil {
		return err
	}
	return t.run("UPDATE feeds SET url = ? WHERE id = ?", url, id)
}
