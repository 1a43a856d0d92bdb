package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// prepareFile looks at what is at path, without changing it, and creates the database if that is allowed and nothing is there.
func (s *Store) prepareFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !s.o.Migrate:
		return fmt.Errorf("there is none yet: %w", ErrOutdated)
	case errors.Is(err, fs.ErrNotExist):
		return s.create(ctx, path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("it is a directory: %w", ErrNotOurs)
	case info.Size() == 0:
		return fmt.Errorf("the file is empty: %w", ErrDamaged)
	}
	if s.o.Migrate && exists(path+fresh) {
		sweep(path)
	}
	return s.inspect(ctx, path)
}

// create makes a complete database beside path and then gives it its name: a crash leaves no half database, so an empty
// file at path is always damage. Whoever comes upon the leavings of a crash carries on with them.
func (s *Store) create(ctx context.Context, path string) error {
	if err := s.build(ctx, path+fresh); err != nil {
		if exists(path) { // another process was faster and took it away
			return nil
		}
		return fmt.Errorf("create it: %w", err)
	}
	err := os.Link(path+fresh, path)
	if err != nil && !exists(path) { // a file system without links; the caller holds the run lock
		err = os.Rename(path+fresh, path)
	}
	if err != nil && !exists(path) {
		return fmt.Errorf("create it: %w", err)
	}
	sweep(path)
	return syncDirectory(filepath.Dir(path))
}

// fresh ends the name of a database that is being made.
const fresh = ".new"

// sweep removes what making the database left. Nobody needs it once path exists.
func sweep(path string) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		os.Remove(path + fresh + suffix)
	}
}

// build makes the schema in a file of its own, with a rollback journal: all that it holds is in that one file then.
func (s *Store) build(ctx context.Context, path string) error {
	scripts, err := migrations()
	if err != nil {
		return err
	}
	return s.buildWith(ctx, path, scripts)
}

func (s *Store) buildWith(ctx context.Context, path string, scripts []string) error {
	if err := claimFile(path); err != nil {
		return err
	}
	db := pool(path, creating, 1)
	defer db.Close()
	return withConn(ctx, db, func(c *conn) error {
		return s.migrate(&tx{context.WithoutCancel(ctx), c}, scripts)
	})
}

// claimFile makes an empty file that only its owner can read, for a database holds the passwords of feeds. SQLite would make it
// for everybody to read; it gives the mode of the database to the -wal and -shm beside it.
func claimFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // left by a crash
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func syncDirectory(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
