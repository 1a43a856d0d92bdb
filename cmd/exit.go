package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"crawl/crawl"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// The exit codes. They stand in `crawl --help` and the README.
const (
	exitDone       = 0 // also when some feeds failed
	exitError      = 1
	exitUsage      = 2
	exitUnfinished = 3
	exitOutage     = 4
	exitStopped    = 5
	exitRunning    = 6
	exitDatabase   = 7
)

// usageError is wrong usage or configuration.
type usageError struct {
	err  error
	hint string
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

// hintedError is any other error to which the reader can do something.
type hintedError struct {
	err  error
	hint string
}

func (e *hintedError) Error() string { return e.err.Error() }
func (e *hintedError) Unwrap() error { return e.err }

// unreadable is the error of an input file that cannot be opened or read.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return &usageError{err, "the user who runs crawl must be able to read it"}
	}
	return &usageError{err: err}
}

// outcomeError is an outcome of a run that has an exit code of its own.
type outcomeError struct {
	outcome, text string
}

func (e *outcomeError) Error() string { return e.text }

// errSaid ends a command with code 1, and errChoose with code 2, when every complaint has been printed.
var (
	errSaid   = errors.New("said already")
	errChoose = errors.New("several feeds were found")
)

// errSignal is the cause of a context that a signal ended.
var errSignal = errors.New("stopped by a signal")

// exitCode is the code for an error.
func exitCode(err error) int {
	var usage *usageError
	var misuse *crawl.UsageError
	var outcome *outcomeError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &outcome):
		return outcomeCode(outcome.outcome)
	case errors.Is(err, store.ErrNotOurs), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrDamaged):
		return exitDatabase
	case errors.As(err, &usage), errors.As(err, &misuse), errors.Is(err, store.ErrNotFound), errors.Is(err, errChoose):
		return exitUsage
	case errors.Is(err, errSignal), errors.Is(err, context.Canceled):
		return exitStopped
	default:
		return exitError
	}
}

func outcomeCode(outcome string) int {
	switch outcome {
	case crawl.Done, crawl.Nothing:
		return exitDone
	case crawl.Unfinished:
		return exitUnfinished
	case crawl.Outage:
		return exitOutage
	case crawl.Killed:
		return exitStopped
	case crawl.Running:
		return exitRunning
	default:
		return exitError
	}
}

// hintToWrite is for whoever may not read or write a place.
const hintToWrite = "the user who runs crawl must be able to write there"

// foreign adds to an error of missing permission whose the data directory is, if it is another user's.
func foreign(err error, dir string, uid int) error {
	if hint(err) != hintToWrite {
		return err
	}
	info, unknown := os.Stat(dir)
	if unknown != nil {
		return err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || int(stat.Uid) == uid {
		return err
	}
	owner := strconv.Itoa(int(stat.Uid))
	if u, unknown := user.LookupId(owner); unknown == nil {
		owner = u.Username + " (" + owner + ")"
	}
	return &hintedError{err, fmt.Sprintf("%s belongs to %s, you are uid %d; run this as its owner", dir, owner, uid)}
}

// hint is what the reader of an error can do about it, "" if that is plain or nothing.
func hint(err error) string {
	var usage *usageError
	var misuse *crawl.UsageError
	var hinted *hintedError
	var held *state.HeldError
	var fetched *fetch.Error
	var missing *crawl.MissingError
	switch {
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.As(err, &usage) && usage.hint != "":
		return usage.hint
	case errors.As(err, &misuse):
		return misuse.Hint
	case errors.As(err, &held):
		return "try again when that has ended, or end it with crawl kill"
	case errors.As(err, &missing) && missing.Gone:
		return "end what may still run with crawl kill, then put it back, or begin anew with another directory, by --dir or CRAWL_DIR"
	case errors.As(err, &missing):
		return "crawl import or crawl add makes one; --dir or CRAWL_DIR names another place"
	case errors.Is(err, store.ErrNotOurs):
		return "nothing was touched; name another file by --db or another directory by --dir"
	case errors.Is(err, store.ErrNewer):
		return "nothing was touched; use the version of crawl that made it, or a later one"
	case errors.Is(err, store.ErrDamaged):
		return "end what may still run with crawl kill; move the database, its -wal and its -shm away together; then put a backup in its place, or begin anew with another directory, by --dir or CRAWL_DIR"
	case errors.Is(err, store.ErrReplaced):
		return "before a backup is put in place, end what runs with crawl kill; crawl run --force fetches again what is lost"
	case errors.Is(err, store.ErrBusy):
		return "nothing is lost; find the program that holds the database open for writing, and try again"
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "nothing is lost; free some space and try again"
	case errors.As(err, &fetched) && fetched.Unauthorized:
		return "give the user and password: https://user:password@host/..., or crawl add --no-fetch, then crawl set ID --user U --password-file F"
	case errors.As(err, &fetched): // a permission that is missing is a firewall's
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return hintToWrite
	}
	return ""
}

// complain prints an error, and what to do about it, on standard error.
func (p program) complain(err error) {
	if err == nil || errors.Is(err, errSaid) || errors.Is(err, errChoose) {
		return
	}
	fmt.Fprintf(p.stderr, "crawl: %s\n", clean(crawl.ErrorLine(err)))
	if h := hint(err); h != "" {
		fmt.Fprintf(p.stderr, "hint: %s\n", clean(h))
	}
}

// didYouMean is a hint with the nearest of some names, "" if none is near.
func didYouMean(name string, names []string) string {
	return didYouMeanExactly(strings.ToLower(name), names)
}

// didYouMeanExactly is didYouMean where upper case means something.
func didYouMeanExactly(name string, names []string) string {
	if near := store.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}
