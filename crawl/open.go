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
	dir, err := openDir(cfg)
	if err != nil {
		return nil, nil, err
	}
	s, err := openDatabase(ctx, cfg, dir, store.Options{})
	if errors.Is(err, store.ErrOutdated) {
		s, err = makeReady(ctx, cfg, dir)
	}
	if err != nil {
		return nil, nil, err
	}
	return dir, s, nil
}

// makeReady creates or migrates the database.
func makeReady(ctx context.Context, cfg Config, dir *state.Dir) (*store.Store, error) {
	seen, err := dir.HighestSeq()
	if err == nil {
		err = checkPresent(cfg, dir, seen)
	}
	if err != nil {
		return nil, err
	}
	return migrate(ctx, cfg, dir)
}

// checkPresent refuses to make a new database where there was one: it may be on a disk that is not there just now.
func checkPresent(cfg Config, dir *state.Dir, seen int64) error {
	path := databasePath(cfg, dir)
	if _, err := os.Stat(path); seen == 0 || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("the database %s is gone, though the directory %s has worked with one: put it back, or begin anew with another directory", path, dir.Path)
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
func migrate(ctx context.Context, cfg Config, dir *state.Dir) (*store.Store, error) {
	deadline := time.Now().Add(migrationWait)
	for {
		lock, err := dir.Lock(state.Holder{Kind: kindMigration, Hour: cfg.hour(), Since: cfg.Now(), Phase: kindMigration, Progress: cfg.Now()})
		if err == nil {
			s, err := openDatabase(ctx, cfg, dir, store.Options{Migrate: true})
			return s, errors.Join(err, lock.Unlock())
		}
		var held *state.HeldError
		if !errors.As(err, &held) {
			return nil, err
		}
		s, err := openDatabase(ctx, cfg, dir, store.Options{})
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
func openDatabase(ctx context.Context, cfg Config, dir *state.Dir, o store.Options) (*store.Store, error) {
	stop := o.Stop
	o.Stop = func() bool { return ctx.Err() != nil || stop != nil && stop() }
	o.MovedAside = func(from, to string) {
		cfg.Log.Warn("a former database left a file behind; it was moved away", slog.String("file", from), slog.String("moved_to", to))
	}
	o.Key, o.MaxFailures, o.Point = feed.Key, cfg.Settings.MaxFailures, cfg.Point
	return store.Open(ctx, databasePath(cfg, dir), o)
}

func databasePath(cfg Config, dir *state.Dir) string {
	if cfg.DB != "" {
		return cfg.DB
	}
	return dir.Database()
}

func (cfg Config) hour() time.Time { return state.Hour(cfg.Now(), cfg.Settings.StartMinute) }

func (cfg Config) point(name string) {
	if cfg.Point != nil {
		cfg.Point(name)
	}
}
