package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"crawl/state/files"
)

// prepareFile looks at what is at path, without changing it, and creates the database if that is allowed and nothing is there.
func (s *Store) prepareFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && isLink(path):
		return fmt.Errorf("it is a symbolic link, and where it leads there is nothing: %w", fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist) && !s.o.Migrate:
		return fmt.Errorf("there is none yet: %w", ErrOutdated)
	case errors.Is(err, fs.ErrNotExist):
		return s.create(ctx, path)
	case err != nil:
		return bare(err)
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

// isLink tells whether path is a symbolic link. A file that another process has made just now is none.
func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// create makes a complete database beside path and then gives it its name: a crash leaves no half database, so an empty
// file at path is always damage. Whoever comes upon the leavings of a crash carries on with them.
//
// The caller holds the run lock, but of its own directory: others may share the database. So one at a time is in here.
func (s *Store) create(ctx context.Context, path string) error {
	unlock, err := s.lockDirectory(ctx, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unlock()
	if exists(path) { // another process was first
		return nil
	}
	if err := s.moveAside(path); err != nil {
		return err
	}
	if err := s.build(ctx, path+fresh); err != nil {
		if exists(path) { // another process was faster, where directories cannot be locked
			return nil
		}
		return fmt.Errorf("create it: %w", bare(err))
	}
	err = os.Link(path+fresh, path)
	if err != nil && !exists(path) { // a file system without links
		err = os.Rename(path+fresh, path)
	}
	if err != nil && !exists(path) {
		return fmt.Errorf("create it: %w", bare(err))
	}
	sweep(path)
	return files.SyncDir(filepath.Dir(path))
}

// lockDirectory lets one process at a time make a database in a directory. Where directories cannot be locked (NFS) the run lock
// has to do.
func (s *Store) lockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience.wait)
	defer cancel()
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryLockContext(ctx, 5*time.Millisecond)
	if !ok && ctx.Err() != nil {
		return nil, fmt.Errorf("wait for another process that makes it: %w", err)
	}
	return func() { lock.Unlock() }, nil
}

// moveAside gives other names to what a database that is gone has left beside its own: SQLite would play an old -wal or -journal into
// whatever has that name next.
func (s *Store) moveAside(path string) error {
	ending := ".old-" + strings.ToLower(rand.Text()[:8])
	moved := false
	for _, suffix := range []string{"-wal", "-journal", "-shm"} {
		old := path + suffix
		err := os.Rename(old, old+ending)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("move %s of a former database away: %w", filepath.Base(old), bare(err))
		}
		s.o.MovedAside(old, old+ending)
		moved = true
	}
	if !moved {
		return nil
	}
	return files.SyncDir(filepath.Dir(path))
}

// bare is an error of os without its path, for Open names that.
func bare(err error) error {
	var onPath *fs.PathError
	var onLink *os.LinkError
	switch {
	case errors.As(err, &onPath):
		return onPath.Err
	case errors.As(err, &onLink):
		return onLink.Err
	}
	return err
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
// for everybody to read; it gives the mode and the owner of the database to the -journal, -wal and -shm beside it.
func claimFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // left by a crash
	}
	if err != nil {
		return err
	}
	files.Give(f)
	return f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
