// Package store is the shared truth: feeds, items, changes, leases and runs in SQLite, and every query on them. It knows
// nothing of HTTP, parsing or files other than the database.
//
// In Go values "" and the zero time mean NULL. Times are kept in whole seconds. Every exported method is one transaction, unless it
// says otherwise, and its errors are those of errors.go where a caller can do something about them.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Options for Open.
type Options struct {
	Migrate bool // create or migrate (the caller holds the run lock); else ErrOutdated
	// Key derives an item's key under a rule, for re-keying (crawl/feed.Key). Needed for Merge only.
	Key func(rule int, guid, url, title, text string) string
	// Fail counts a failure that the merge itself finds (kind store) in its feed's row, by the rules of those that a fetch finds: f has
	// ConsecutiveFailures, FailedHour and Schedule as stored, and LastError; it gets those, NextFetchAt, and of a feed that is to stop Status
	// and StoppedReason. Needed for Merge only.
	Fail func(feed int64, hour, at time.Time, f *FeedState)
	// Point, if set, is called at named steps of transactions (tests kill there): "merge-begin", "merge-mid",
	// "merge-before-commit", "merge-after-commit", "claim-after-commit", "migrate-mid".
	Point func(name string)
	// Stop is looked at between tries while another program holds the write lock; true ends the wait with ErrBusy.
	Stop func() bool
	// Seen is the highest changes.seq that the caller has seen. A database that has less was put back from a backup: the first
	// transaction that writes begins a new epoch.
	Seen int64
	// Committed, if set, is told of the highest changes.seq after a transaction that raised it or began a new epoch (renewed), one
	// call at a time.
	Committed func(seq int64, renewed bool)
	// MovedAside, if set, is told of files of a former database that stood beside the name of a new one.
	MovedAside func(from, to string)
}

// Store is an open database. Safe for concurrent use; one connection writes.
type Store struct {
	o        Options
	path     string
	patience patience
	writer   *sql.DB
	readers  *sql.DB
	frozen   *frozen // nil if the database can be written
	file     os.FileInfo
	seen     int64       // changes.seq as of the last transaction; for the holder of the writing connection
	epoch    int64       // the one that HoldEpoch holds to; 0: none
	hadWAL   bool        // when it was opened
	damaged  atomic.Bool // a transaction that reads has met damage
}

// maxReaders is the size of the pool of reading connections.
const maxReaders = 4

// Open opens the database at path, reads every pragma back, and checks application_id and user_version. Nothing is written
// unless Migrate is set and needed. Where nothing can be written (fs.ErrPermission, syscall.EROFS, ErrFull) a database that no other
// process has open can be read all the same, without Migrate.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if o.Point == nil {
		o.Point = func(string) {}
	}
	if o.MovedAside == nil {
		o.MovedAside = func(string, string) {}
	}
	if o.Committed == nil {
		o.Committed = func(int64, bool) {}
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real // SQLite keeps the -wal beside the file itself
	}
	s := &Store{o: o, path: path, patience: o.patience(), seen: o.Seen}
	if err := s.prepareFile(ctx, abs); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if s.file, err = os.Stat(abs); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	s.hadWAL = hasWAL(abs)
	s.writer = pool(abs, writing, 1)
	s.readers = pool(abs, reading, maxReaders)
	err = s.ready(ctx)
	if err != nil {
		err = s.freeze(ctx, abs, err)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return s, nil
}

// CheckInPlace gives ErrReplaced if the path names another file than when the database was opened, or none.
func (s *Store) CheckInPlace() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, s.file) {
		return s.named(ErrReplaced)
	}
	if err != nil {
		return fmt.Errorf("look at the database: %w", err)
	}
	return nil
}

// Close closes all connections. Beside a damaged database a -wal that was there before stays: SQLite would move it into the database if
// the connection that writes were the last.
func (s *Store) Close() error {
	if s.hadWAL && s.damaged.Load() {
		return errors.Join(s.writer.Close(), s.readers.Close())
	}
	return errors.Join(s.readers.Close(), s.writer.Close())
}

// update runs f in one transaction on the writing connection. It waits for another program's write lock as the options say;
// once it has begun nothing cancels it, for SQLite would roll back the whole transaction and the next statement would commit
// by itself.
func (s *Store) update(ctx context.Context, f func(*tx) error) error {
	return s.withWriter(ctx, func(t *tx) error {
		err := s.patience.retry(ctx, func() error { return t.run("BEGIN IMMEDIATE") })
		if err != nil {
			return err
		}
		var seq int64
		var renewed bool
		err = t.finish(func(t *tx) error {
			if renewed, err = s.checkEpoch(t); err != nil {
				return err
			}
			if err = f(t); err != nil {
				return err
			}
			seq, err = t.lastID("changes")
			return err
		})
		if err == nil && (renewed || seq > s.seen) {
			s.seen = seq
			s.o.Committed(seq, renewed)
		}
		return err
	})
}

// errRolledBack is a transaction that SQLite ended behind our back.
var errRolledBack = errors.New("transaction was rolled back")

// finish runs f in the transaction that has begun, and ends it.
func (t *tx) finish(f func(*tx) error) error {
	err := f(t)
	if err == nil && t.AutoCommit() {
		err = errRolledBack
	}
	if err == nil {
		err = t.run("COMMIT")
	}
	if err != nil && !t.AutoCommit() {
		if e := t.run("ROLLBACK"); e != nil {
			err = fmt.Errorf("%w; undo it: %w", err, e)
		}
	}
	return err
}

// withWriter runs f on the writing connection, outside any transaction.
func (s *Store) withWriter(ctx context.Context, f func(*tx) error) error {
	if s.frozen != nil {
		return s.named(s.frozen.cause)
	}
	return s.named(withConn(ctx, s.writer, func(c *conn) error {
		return f(&tx{context.WithoutCancel(ctx), c})
	}))
}

// view runs f in one transaction on a reading connection: all its statements see one state of the database. Cancelling ctx interrupts
// it; f is run again if another program is in its way.
func (s *Store) view(ctx context.Context, f func(*tx) error) error {
	err := withConn(ctx, s.readers, func(c *conn) error {
		ends := &tx{context.WithoutCancel(ctx), c} // for the connection is used again
		return s.patience.retry(ctx, func() error {
			if err := ends.run("BEGIN"); err != nil {
				return err
			}
			return ends.finish(func(*tx) error { return f(&tx{ctx, c}) })
		})
	})
	if errors.Is(err, ErrDamaged) {
		s.damaged.Store(true)
	}
	if s.frozen != nil {
		if changed := s.frozen.check(); changed != nil {
			return changed
		}
	}
	return s.named(err)
}

// Optimize runs PRAGMA optimize and a passive checkpoint, outside any transaction.
func (s *Store) Optimize(ctx context.Context) error {
	err := s.withWriter(ctx, func(t *tx) error {
		for _, pragma := range []string{"PRAGMA optimize", "PRAGMA wal_checkpoint(PASSIVE)"} {
			err := s.patience.retry(ctx, func() error {
				return t.query(pragma, func(row) error { return nil })
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("optimize the database: %w", err)
	}
	return nil
}

func withConn(ctx context.Context, db *sql.DB, f func(*conn) error) error {
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Raw(func(dc any) error { return f(dc.(*conn)) })
}
