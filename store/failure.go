package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// failure is an error of SQLite, said in our words.
type failure struct {
	text  string
	is    error // what callers branch on: one of ours, or of the system
	cause sqlite3.Error
}

// Error does not repeat what SQLite says where it says the same.
func (f *failure) Error() string { return f.text }

// Unwrap gives the meaning and the driver's error.
func (f *failure) Unwrap() []error { return []error{f.is, f.cause} }

// mapped gives a driver's error the meaning that callers branch on, by its code. It stands where the driver's errors come out (conn
// and tx), so each is mapped once. Errors that have no meaning of ours, and those of others, pass as they are.
func mapped(path string, err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked:
		return &failure{ErrBusy.Error(), ErrBusy, e}
	case sqlite3.ErrFull:
		return &failure{ErrFull.Error(), ErrFull, e}
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return &failure{damage(path, e), ErrDamaged, e}
	case sqlite3.ErrIoErr, sqlite3.ErrCantOpen, sqlite3.ErrReadonly, sqlite3.ErrPerm:
		if e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT {
			return &failure{ErrFull.Error(), ErrFull, e}
		}
		if denied := denial(path); denied != nil {
			return &failure{denied.Error(), denied, e}
		}
	}
	return err
}

// damage says what SQLite found, and what belongs together: a backup that is put beside the -wal of the database before it is
// damaged by that anew.
func damage(path string, e sqlite3.Error) string {
	text := ErrDamaged.Error()
	if said := e.Error(); e.Code == sqlite3.ErrNotADB || said != e.Code.Error() {
		text += ": " + said
	}
	if name := filepath.Base(path); hasWAL(path) {
		text += fmt.Sprintf("; %s, %[1]s-wal and %[1]s-shm belong together: move all three away before a backup takes their place", name)
	}
	return text
}

// denial says which of the files of a database this process may not read or write; nil if it may all. SQLite reports that as a file
// that is missing or read-only, without a name. Nothing is opened: closing a file would drop the locks that this process has on it.
func denial(path string) error {
	name := filepath.Base(path)
	for _, need := range []struct {
		path, text string
		mode       uint32
	}{
		{path, name + " cannot be read", unix.R_OK},
		{path, name + " cannot be written", unix.W_OK},
		{path + "-wal", name + "-wal cannot be written", unix.W_OK},
		{path + "-shm", name + "-shm cannot be written", unix.W_OK},
		{filepath.Dir(path), "its directory cannot be written, and SQLite needs files beside it", unix.W_OK | unix.X_OK},
	} {
		err := unix.Faccessat(unix.AT_FDCWD, need.path, need.mode, unix.AT_EACCESS)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w", need.text, err)
		}
	}
	return nil
}

// databaseError is an error of an open database, with its path.
type databaseError struct {
	path string
	err  error
}

// Error begins with the path.
func (e *databaseError) Error() string { return e.path + ": " + e.err.Error() }

// Unwrap gives the error without the path.
func (e *databaseError) Unwrap() error { return e.err }

// named adds the path to an error of the database; what lies in the request and not in the database stays as it is.
func (s *Store) named(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) && !errors.Is(err, errRolledBack) && !errors.Is(err, ErrDamaged) {
		return err
	}
	return &databaseError{s.path, err}
}

// unnamed is an error as it was before named.
func unnamed(err error) error {
	var e *databaseError
	if errors.As(err, &e) {
		return e.err
	}
	return err
}
