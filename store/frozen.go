package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// frozen is a database that is read without its -wal and -shm, since this process cannot make them: on a read-only file system, in
// a directory of another user, or on a full disk.
//
// SQLite takes no locks then, so another process that can write might change the file under the reader. It would make a -wal
// before, and change the file's size or time: so after each reading it is looked whether all is as it was.
type frozen struct {
	path  string
	was   os.FileInfo
	cause error // why nothing can be written
}

// freeze opens the database for reading alone if that is possible where cause kept it from being opened, else returns an error: cause
// in most cases.
func (s *Store) freeze(ctx context.Context, path string, cause error) error {
	denied := errors.Is(cause, fs.ErrPermission) || errors.Is(cause, syscall.EROFS) || errors.Is(cause, ErrFull)
	info, err := os.Stat(path)
	if s.o.Migrate || !denied || err != nil || hasWAL(path) {
		return cause
	}
	readers := pool(path, immutable, maxReaders)
	err = withConn(ctx, readers, func(c *conn) error {
		version, err := s.version(&tx{ctx, c})
		if err == nil && version < schemaVersion {
			err = ErrOutdated
		}
		return err
	})
	if err != nil {
		readers.Close()
		return err
	}
	s.readers.Close()
	s.readers, s.frozen = readers, &frozen{path, info, cause}
	return nil
}

// check says whether what was read since the database was opened can be trusted.
func (f *frozen) check() error {
	info, err := os.Stat(f.path)
	if err != nil || hasWAL(f.path) || !os.SameFile(info, f.was) || info.Size() != f.was.Size() || !info.ModTime().Equal(f.was.ModTime()) {
		return fmt.Errorf("%s changed while it was read without locks: %w", f.path, ErrBusy)
	}
	return nil
}
