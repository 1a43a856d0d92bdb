package store

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Epoch numbers the lives of this database.
func (s *Store) Epoch(ctx context.Context) (epoch int64, err error) {
	err = s.view(ctx, func(t *tx) error {
		epoch, err = t.one("SELECT epoch FROM meta")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read epoch: %w", err)
	}
	return epoch, nil
}

// HighestSeq is the last changes.seq ever given (0: none).
func (s *Store) HighestSeq(ctx context.Context) (seq int64, err error) {
	err = s.view(ctx, func(t *tx) error {
		seq, err = t.lastID("changes")
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read highest seq: %w", err)
	}
	return seq, nil
}

// lastID returns the last id given by an AUTOINCREMENT table; 0 if none ever was.
func (t *tx) lastID(table string) (int64, error) {
	return t.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
}

// RenewEpoch starts a new epoch if the highest seq is below seen (the database was put back from a backup), and says whether
// it did. A new epoch is a random number, so that two restorations of one backup never have the same. It is a transaction that writes
// only if one that reads finds cause, and CheckDamage no damage that looks alike.
func (s *Store) RenewEpoch(ctx context.Context, seen int64) (renewed bool, err error) {
	highest, err := s.HighestSeq(ctx)
	if err != nil || highest >= seen {
		return false, err
	}
	if err = s.CheckDamage(ctx); err != nil {
		return false, err
	}
	err = s.update(ctx, func(t *tx) error {
		renewed, err = t.renewEpoch(seen)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("renew epoch: %w", err)
	}
	return renewed, nil
}

// renewEpoch also lets the numbers of changes go on from seen: none that a reader may know is given again, and who has looked before
// and compares after it, in a transaction of its own, finds no cause any more.
func (t *tx) renewEpoch(seen int64) (renewed bool, err error) {
	highest, err := t.lastID("changes")
	if err != nil || highest >= seen {
		return false, err
	}
	n, err := t.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", seen)
	if err == nil && n == 0 { // there never was a change
		err = t.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", seen)
	}
	if err != nil {
		return false, err
	}
	return true, t.run("UPDATE meta SET epoch = ?", 2+rand.Int64N(1<<52))
}
