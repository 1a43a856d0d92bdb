package crawl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"crawl/crawl/feed"
	"crawl/state"
	"crawl/store"
)

// migrationWait is how long a command waits for the run lock when the database must be created or migrated first.
const migrationWait = 30 * time.Second

// OpenStore opens directory and database for the commands that work beside a run. Where the database has to be created or
// migrated, that is done under the run lock. None is created in place of one that the directory has worked with.
func OpenStore(ctx context.Context, cfg Config) (*state.Dir, *store.Store, error) {
	if err := CheckPresent(cfg); err != nil && !NothingYet(err) {
		return nil, nil, err
	}
	dir, err := openDir(cfg)
	if err != nil {
		return nil, nil, err
	}
	o, err := watchSeq(cfg, dir)
	if err != nil {
		return nil, nil, err
	}
	s, err := openDatabase(ctx, cfg, o)
	if errors.Is(err, store.ErrOutdated) {
		s, err = migrate(ctx, cfg, dir, o)
	}
	if err != nil {
		return nil, nil, err
	}
	return dir, s, nil
}

// watchSeq is what makes a database that was put back from a backup known to readers, with the first write, and keeps what seq it comes to.
// It reads the kept seq before the database is opened, for other processes raise both, the database's first.
func watchSeq(cfg Config, dir *state.Dir) (o store.Options, err error) {
	o.Seen, err = dir.HighestSeq()
	o.Committed = func(seq int64, renewed bool) {
		if renewed {
			cfg.warnRestored(o.Seen)
		}
		if err := dir.KeepHighestSeq(seq); err != nil {
			cfg.Log.Warn("the highest seq cannot be kept", slog.Int64("seq", seq), slog.Any("error", err))
		}
	}
	return o, err
}

func (cfg Config) warnRestored(seen int64) {
	cfg.Log.Warn("the database has fewer changes than this directory has seen: it was put back from a backup; a new epoch begins",
		slog.Int64("seen", seen))
}

// MissingError is that there is no database. One that is gone may be on a disk that is not there just now: nobody makes a new one in
// its place.
type MissingError struct {
	Path string // of the database
	Dir  string // the data directory
	Gone bool   // a run has worked in the directory
}

// Error implements error.
func (e *MissingError) Error() string {
	if e.Gone {
		return fmt.Sprintf("the database %s is gone, though the directory %s has worked with one", e.Path, e.Dir)
	}
	return "there is no database at " + e.Path
}

// NothingYet tells whether err is that there is no database, and that none is gone.
func NothingYet(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) && !missing.Gone
}

// CheckPresent gives a *MissingError where there is no database. It makes nothing, the directory neither.
func CheckPresent(cfg Config) error {
	if _, err := os.Lstat(cfg.Database()); !errors.Is(err, fs.ErrNotExist) {
		return nil // what is wrong with a link or a file, the store says
	}
	minute, err := (&state.Dir{Path: cfg.Dir}).StartMinute() // which a run keeps
	if err != nil {
		return err
	}
	return &MissingError{Path: cfg.Database(), Dir: cfg.Dir, Gone: minute >= 0}
}

func openDir(cfg Config) (*state.Dir, error) {
	dir, err := state.Open(cfg.Dir)
	if err != nil {
		return nil, err
	}
	dir.Point = cfg.Point
	return dir, nil
}

// migrate waits for the run lock, for the holder may be migrating itself: then there is nothing left to do.
func migrate(ctx context.Context, cfg Config, dir *state.Dir, o store.Options) (*store.Store, error) {
	migrating := o
	migrating.Migrate = true
	deadline := time.Now().Add(migrationWait)
	for {
		lock, err := dir.Lock(state.Holder{Kind: kindMigration, Hour: cfg.hour(), Since: cfg.Now(), Phase: kindMigration, Progress: cfg.Now()})
		if err == nil {
			s, err := openDatabase(ctx, cfg, migrating)
			return s, errors.Join(err, lock.Unlock())
		}
		var held *state.HeldError
		if !errors.As(err, &held) {
			return nil, err
		}
		s, err := openDatabase(ctx, cfg, o)
		if !errors.Is(err, store.ErrOutdated) {
			return s, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("wait for the migration of the database: %w", held)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openDatabase opens the database with options that all of this package's work has in common, beside those given.
func openDatabase(ctx context.Context, cfg Config, o store.Options) (*store.Store, error) {
	stop := o.Stop
	o.Stop = func() bool { return ctx.Err() != nil || stop != nil && stop() }
	o.MovedAside = func(from, to string) {
		cfg.Log.Warn("a former database left a file behind; it was moved away", slog.String("file", from), slog.String("moved_to", to))
	}
	o.Key, o.Fail, o.Point = feed.Key, cfg.Settings.fail, cfg.Point
	return store.Open(ctx, cfg.Database(), o)
}

// Database is the path of the database in force.
func (cfg Config) Database() string {
	if cfg.DB != "" {
		return cfg.DB
	}
	return (&state.Dir{Path: cfg.Dir}).Database()
}

func (cfg Config) hour() time.Time { return state.Hour(cfg.Now(), cfg.Settings.StartMinute) }

func (cfg Config) point(name string) {
	if cfg.Point != nil {
		cfg.Point(name)
	}
}
