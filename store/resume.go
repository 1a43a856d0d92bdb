package store

import (
	"context"
	"fmt"
	"time"
)

// Resume ends "stopped" for the given feeds: active, failures 0, due at once, lease_token raised. Feeds that are not stopped
// stay as they are.
func (s *Store) Resume(ctx context.Context, ids []int64) error {
	err := s.update(ctx, func(t *tx) error { return t.resume(ids) })
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	return nil
}

func (t *tx) resume(ids []int64) error {
	return t.run(`
		UPDATE feeds
		SET status = 'active',
		    stopped_reason = NULL,
		    stopped_at = NULL,
		    consecutive_failures = 0,
		    failed_hour = NULL,
		    next_fetch_at = NULL,
		    lease_owner = NULL,
		    lease_boot = NULL,
		    lease_until = NULL,
		    lease_token = lease_token + 1
		WHERE id IN (SELECT value FROM json_each(?))
		  AND status = 'stopped'`,
		idList(ids))
}

// Stop stops feeds with a reason, by hand; lease_token is raised. Feeds that are stopped keep the reason they have.
func (s *Store) Stop(ctx context.Context, ids []int64, reason string, now time.Time) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			UPDATE feeds
			SET status = 'stopped',
			    stopped_reason = ?,
			    stopped_at = ?,
			    lease_owner = NULL,
			    lease_boot = NULL,
			    lease_until = NULL,
			    lease_token = lease_token + 1
			WHERE id IN (SELECT value FROM json_each(?))
			  AND status = 'active'`,
			text(reason), stamp(now), idList(ids))
	})
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// Remove removes feeds with their items; each item is a change of kind removed.
func (s *Store) Remove(ctx context.Context, ids []int64, now time.Time) error {
	err := s.update(ctx, func(t *tx) error {
		err := t.run(`
			INSERT INTO changes (at, item_id, feed_id, kind, columns)
			SELECT ?, id, feed_id, 'removed', '[]'
			FROM items
			WHERE feed_id IN (SELECT value FROM json_each(?))
			ORDER BY id`,
			stamp(now), idList(ids))
		if err != nil {
			return err
		}
		return t.run("DELETE FROM feeds WHERE id IN (SELECT value FROM json_each(?))", idList(ids))
	})
	if err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}
