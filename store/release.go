package store

import (
	"context"
	"fmt"
	"time"
)

// RenewLeases moves the expiry of what owner still holds.
func (s *Store) RenewLeases(ctx context.Context, owner string, until time.Time) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run("UPDATE feeds SET lease_until = ? WHERE lease_owner = ?", stampUp(until), owner)
	})
	if err != nil {
		return fmt.Errorf("renew leases: %w", err)
	}
	return nil
}

// GiveBack ends leases that sent nothing: owner and expiry cleared, last_attempt_at as it was before, only where token and
// owner still are the claim's.
func (s *Store) GiveBack(ctx context.Context, owner string, claims []Claim) error {
	return s.release(ctx, owner, claims, true)
}

// Release clears owner and expiry of leases of owner for the given claims (they were sent, but have no outcome): they stay due.
func (s *Store) Release(ctx context.Context, owner string, claims []Claim) error {
	return s.release(ctx, owner, claims, false)
}

func (s *Store) release(ctx context.Context, owner string, claims []Claim, unsent bool) error {
	if len(claims) == 0 {
		return nil
	}
	err := s.update(ctx, func(t *tx) error {
		for _, c := range claims {
			err := t.run(`
				UPDATE feeds
				SET lease_owner = NULL,
				    lease_boot = NULL,
				    lease_until = NULL,
				    last_attempt_at = CASE WHEN ? THEN previous_attempt_at ELSE last_attempt_at END
				WHERE id = ?
				  AND lease_token = ?
				  AND lease_owner = ?`,
				truth(unsent), c.ID, c.Token, owner)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// ClearLeases clears owner and expiry of every lease whose owner begins with host+"/" : those of a dead run of this directory.
func (s *Store) ClearLeases(ctx context.Context, host string) error {
	err := s.update(ctx, func(t *tx) error {
		return t.run(`
			UPDATE feeds
			SET lease_owner = NULL, lease_boot = NULL, lease_until = NULL
			WHERE substr(lease_owner, 1, length(?1)) = ?1`, host+"/")
	})
	if err != nil {
		return fmt.Errorf("clear leases of a dead run: %w", err)
	}
	return nil
}
