package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Uncategorized is the category of feeds outside any folder.
const Uncategorized = "Uncategorized"

// Category is a named group of feeds.
type Category struct {
	ID                              int64
	Name                            string
	Ranked                          bool
	Feeds, Active, Stopped, Failing int
	// Throttled counts active feeds that do not fail, but whose last answer asked for quiet (429, or 503 with Retry-After).
	Throttled int
	// Oldest is the oldest last_attempt_at of its active feeds; zero if one was never tried.
	Oldest time.Time
	// DueAtOnce counts active feeds whose next_fetch_at is NULL.
	DueAtOnce int
}

// Categories lists all categories by name.
func (s *Store) Categories(ctx context.Context) (categories []Category, err error) {
	err = s.view(ctx, func(t *tx) error {
		categories, err = t.categories()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list categories: %w", err)
	}
	return categories, nil
}

func (t *tx) categories() (categories []Category, err error) {
	err = t.query(`
		SELECT c.id,
		       c.name,
		       c.ranked,
		       count(f.id),
		       count(*) FILTER (WHERE f.status = 'active'),
		       count(*) FILTER (WHERE f.status = 'stopped'),
		       count(*) FILTER (WHERE f.status = 'active' AND f.consecutive_failures > 0),
		       count(*) FILTER (WHERE f.status = 'active' AND f.last_attempt_at IS NULL),
		       min(f.last_attempt_at) FILTER (WHERE f.status = 'active'),
		       count(*) FILTER (WHERE f.status = 'active' AND f.next_fetch_at IS NULL),
		       count(*) FILTER (WHERE f.status = 'active' AND f.consecutive_failures = 0 AND f.retry_after_until IS NOT NULL)
		FROM categories c
		LEFT JOIN feeds f ON f.category_id = c.id
		GROUP BY c.id
		ORDER BY c.name`,
		func(r row) error {
			c := Category{
				ID:        r.int(0),
				Name:      r.text(1),
				Ranked:    r.bool(2),
				Feeds:     int(r.int(3)),
				Active:    int(r.int(4)),
				Stopped:   int(r.int(5)),
				Failing:   int(r.int(6)),
				DueAtOnce: int(r.int(9)),
				Throttled: int(r.int(10)),
			}
			if r.int(7) == 0 {
				c.Oldest = r.time(8)
			}
			categories = append(categories, c)
			return nil
		})
	return categories, err
}

// FindCategory finds a category by name; *NotFoundError with the nearest one.
func (s *Store) FindCategory(ctx context.Context, name string) (found Category, err error) {
	err = s.view(ctx, func(t *tx) error {
		all, err := t.categories()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(c Category) bool { return c.Name == name })
		if i < 0 {
			return t.noCategory(name)
		}
		found = all[i]
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("find category: %w", err)
	}
	return found, err
}

// noCategory says that there is no category of this name, with the nearest one.
func (t *tx) noCategory(name string) error {
	var names []string
	err := t.query("SELECT name FROM categories ORDER BY name", func(r row) error {
		names = append(names, r.text(0))
		return nil
	})
	if err != nil {
		return err
	}
	return &NotFoundError{What: "category", Name: name, Nearest: Nearest(name, names)}
}

// CategoryName is the name of the category that name means: "" is Uncategorized.
func CategoryName(name string) string { return cmp.Or(name, Uncategorized) }

// categoryID returns the id of the category that name means, which is created if it is missing.
func (t *tx) categoryID(name string) (int64, error) {
	name = valid(CategoryName(name))
	id, err := t.one("SELECT id FROM categories WHERE name = ?", name)
	if err != nil || id != 0 {
		return id, err
	}
	return t.one("INSERT INTO categories (name) VALUES (?) RETURNING id", name)
}

// SetRanked makes a category ranked or not; it is created if it is missing.
func (s *Store) SetRanked(ctx context.Context, name string, ranked bool) error {
	err := s.update(ctx, func(t *tx) error {
		id, err := t.categoryID(name)
		if err != nil {
			return err
		}
		return t.run("UPDATE categories SET ranked = ? WHERE id = ?", truth(ranked), id)
	})
	if err != nil {
		return fmt.Errorf("set category %q: %w", name, err)
	}
	return nil
}

// RenameCategory gives a category another name. *NotFoundError; ErrExists if another one has that name.
func (s *Store) RenameCategory(ctx context.Context, old, name string) error {
	if name == "" {
		return fmt.Errorf("rename category %q: the new name is empty", old)
	}
	err := s.update(ctx, func(t *tx) error {
		id, err := t.one("SELECT id FROM categories WHERE name = ?", name)
		if err != nil {
			return err
		}
		if id != 0 && name != old {
			return fmt.Errorf("a category %q is %w", name, ErrExists)
		}
		n, err := t.exec("UPDATE categories SET name = ? WHERE name = ?", valid(name), old)
		if err == nil && n == 0 {
			return t.noCategory(old)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("rename category %q: %w", old, err)
	}
	return nil
}

// RemoveCategory removes an empty category; feeds in it are an error that counts them.
func (s *Store) RemoveCategory(ctx context.Context, name string) error {
	err := s.update(ctx, func(t *tx) error {
		id, err := t.one("SELECT id FROM categories WHERE name = ?", name)
		if err != nil {
			return err
		}
		if id == 0 {
			return t.noCategory(name)
		}
		feeds, err := t.one("SELECT count(*) FROM feeds WHERE category_id = ?", id)
		if err != nil {
			return err
		}
		if feeds > 0 {
			return fmt.Errorf("it still has %s, to be moved or removed first", Count(int(feeds), "feed"))
		}
		if err := t.run("DELETE FROM merged WHERE category_id = ?", id); err != nil {
			return err
		}
		return t.run("DELETE FROM categories WHERE id = ?", id)
	})
	if err != nil {
		return fmt.Errorf("remove category %q: %w", name, err)
	}
	return nil
}
