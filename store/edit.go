package store

import (
	"context"
	"errors"
	"fmt"
)

// FeedEdit changes what is not nil. A new URL raises lease_token, clears what was remembered of the old one and makes the feed due at
// once; it stays stopped if it is, without Resume. A new category makes it due at once. ErrExists if another feed has the URL.
type FeedEdit struct {
	URL, Title, Category *string
	// Settings changes the settings that the feed has when it is called, once, within the transaction. Its error undoes the edit.
	Settings func(*FeedSettings) error
	Resume   bool // as Store.Resume does
}

// EditFeed changes a feed by hand. ErrNotFound if there is none with this id; an error of FeedEdit.Settings as it is.
func (s *Store) EditFeed(ctx context.Context, id int64, e FeedEdit) error {
	err := s.update(ctx, func(t *tx) error { return t.editFeed(id, e) })
	var refused *refusedError
	if errors.As(err, &refused) {
		return refused.error
	}
	if err != nil {
		return fmt.Errorf("edit feed %d: %w", id, err)
	}
	return nil
}

// refusedError is an error of FeedEdit.Settings.
type refusedError struct{ error }

func (t *tx) editFeed(id int64, e FeedEdit) error {
	n, err := t.one("SELECT count(*) FROM feeds WHERE id = ?", id)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
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
	if e.Resume {
		if err := t.resume([]int64{id}); err != nil {
			return err
		}
	}
	if e.Settings != nil {
		return t.changeSettings(id, e.Settings)
	}
	return nil
}

func (t *tx) changeSettings(id int64, change func(*FeedSettings) error) error {
	var f FeedSettings
	err := t.query("SELECT settings FROM feeds WHERE id = ?", func(r row) error { return r.json(0, &f) }, id)
	if err != nil {
		return err
	}
	if err := change(&f); err != nil {
		return &refusedError{err}
	}
	settings, err := settingsText(f)
	if err != nil {
		return err
	}
	return t.run("UPDATE feeds SET settings = ? WHERE id = ?", text(settings), id)
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
		    consecutive_failures = 0,
		    failed_hour = NULL,
		    last_error = NULL,
		    last_error_kind = NULL,
		    last_error_at = NULL,
		    last_warning = NULL,
		    schedule = NULL,
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
