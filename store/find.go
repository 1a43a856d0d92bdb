package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// FindFeed finds a feed by id or by present or former URL; *NotFoundError with the nearest URL.
func (s *Store) FindFeed(ctx context.Context, ref string) (feed Feed, err error) {
	err = s.view(ctx, func(t *tx) error {
		id, err := t.feedID(ref)
		if err != nil {
			return err
		}
		if id == 0 {
			return t.noFeed(ref)
		}
		return t.query(`
			SELECT `+feedColumns+`
			FROM feeds f
			JOIN categories c ON c.id = f.category_id
			WHERE f.id = ?`,
			func(r row) error {
				feed, err = scanFeed(r)
				return err
			}, id)
	})
	if errors.Is(err, ErrNotFound) {
		return Feed{}, err
	}
	if err != nil {
		return Feed{}, fmt.Errorf("find feed: %w", err)
	}
	return feed, nil
}

// IsGone tells whether a feed was removed whose items have left changes behind.
func (s *Store) IsGone(ctx context.Context, feed int64) (gone bool, err error) {
	err = s.view(ctx, func(t *tx) error {
		n, err := t.one(`
			SELECT CASE WHEN EXISTS (SELECT 1 FROM feeds WHERE id = ?1) THEN 0 ELSE EXISTS (SELECT 1 FROM changes WHERE feed_id = ?1) END`,
			feed)
		gone = n != 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look up feed %d: %w", feed, err)
	}
	return gone, nil
}

// feedID returns the id of the feed that ref names, 0 if there is none.
func (t *tx) feedID(ref string) (int64, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		return t.one("SELECT id FROM feeds WHERE id = ?", id)
	}
	return t.feedAt(ref)
}

// feedAt returns the id of the feed that has or had a URL; one that has it is preferred.
func (t *tx) feedAt(url string) (int64, error) {
	id, err := t.one("SELECT id FROM feeds WHERE url = ?", url)
	if err != nil || id != 0 {
		return id, err
	}
	return t.one("SELECT feed_id FROM former_urls WHERE url = ?", url)
}

func (t *tx) noFeed(ref string) error {
	var urls []string
	ids := map[string]int64{}
	err := t.query("SELECT id, url FROM feeds ORDER BY id LIMIT ?", func(r row) error {
		urls = append(urls, r.text(1))
		ids[r.text(1)] = r.int(0)
		return nil
	}, int64(maxNearest))
	if err != nil {
		return err
	}
	near := Nearest(ref, urls)
	return &NotFoundError{"feed", ref, near, ids[near]}
}

// Known returns for each URL the id of the feed that has or had it, 0 where there is none.
func (s *Store) Known(ctx context.Context, urls []string) (ids []int64, err error) {
	ids = make([]int64, len(urls))
	err = s.view(ctx, func(t *tx) error {
		for i, url := range urls {
			if ids[i], err = t.feedAt(url); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look up feeds: %w", err)
	}
	return ids, nil
}
