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

// HoldEpoch gives the epoch and holds the store to it, once: where a backup is put into the database while it is open, transactions that
// write give ErrReplaced and write nothing, for much that the caller knows is true no more. If a new epoch is due it begins here; that is
// a transaction that writes, only if one that reads finds cause, and CheckDamage no damage that looks alike. It is called before there is
// more than one user of the store.
func (s *Store) HoldEpoch(ctx context.Context) (epoch int64, err error) {
	var highest int64
	look := func(t *tx) error {
		if highest, err = t.lastID("changes"); err != nil {
			return err
		}
		epoch, err = t.one("SELECT epoch FROM meta")
		return err
	}
	err = s.view(ctx, look)
	if err == nil && highest < s.seen {
		if err = s.CheckDamage(ctx); err == nil {
			err = s.update(ctx, look)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("hold epoch: %w", err)
	}
	s.epoch = epoch
	return epoch, nil
}

// checkEpoch begins a new epoch if the highest seq is below the one that was seen: the database was put back from a backup. To a store
// that is held to its epoch that is an error, and so is another epoch, which another process began.
func (s *Store) checkEpoch(t *tx) (renewed bool, err error) {
	highest, err := t.lastID("changes")
	if err != nil {
		return false, err
	}
	if s.epoch != 0 {
		epoch, err := t.one("SELECT epoch FROM meta")
		if err == nil && (epoch != s.epoch || highest < s.seen) {
			err = ErrReplaced
		}
		return false, err
	}
	if highest >= s.seen {
		return false, nil
	}
	return true, t.beginEpoch(s.seen)
}

// beginEpoch begins a new epoch: a random number, so that two restorations of one backup never have the same. It also lets the numbers of
// changes go on from seen: none that a reader may know is given again, and who has looked before and compares after it, in a transaction
// of its own, finds no cause any more.
func (t *tx) beginEpoch(seen int64) error {
	n, err := t.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = 'changes'", seen)
	if err == nil && n == 0 { // there never was a change
		err = t.run("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", seen)
	}
	if err != nil {
		return err
	}
	return t.run("UPDATE meta SET epoch = ?", 2+rand.Int64N(1<<52))
}
