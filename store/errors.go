package store

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

// States that callers branch on; wrapped with what was being done, and with the path where it is the database that is at fault.
var (
	ErrNotOurs  = errors.New("not a crawl database")
	ErrNewer    = errors.New("database is newer than this program")
	ErrDamaged  = errors.New("database is damaged")
	ErrOutdated = errors.New("database needs a migration") // Open without Migrate on an older or missing database
	ErrBusy     = errors.New("database is locked by another program")
	ErrFull     = errors.New("disk is full")
	ErrNotFound = errors.New("not found")
	ErrReplaced = errors.New("the database was replaced or removed while it was open") // what was written since may be lost
	ErrExists   = errors.New("already there")
)

// NotFoundError names what was asked for and the nearest match ("" if nothing is near). It is ErrNotFound.
type NotFoundError struct {
	What, Name, Nearest string
	NearestID           int64 // of the nearest feed; 0 for categories and where nothing is near
}

// Error shows no URL of a feed: there may be a secret in it.
func (e *NotFoundError) Error() string {
	if e.What == "feed" {
		name := "feed " + e.Name
		if _, err := strconv.ParseInt(e.Name, 10, 64); err != nil {
			name = "feed with that URL"
		}
		if e.NearestID == 0 {
			return "no " + name
		}
		return fmt.Sprintf("no %s; the nearest is feed %d", name, e.NearestID)
	}
	if e.Nearest == "" {
		return fmt.Sprintf("no %s %q", e.What, e.Name)
	}
	return fmt.Sprintf("no %s %q; the nearest is %q", e.What, e.Name, e.Nearest)
}

// Is makes a NotFoundError an ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// hasCode says whether err is the driver's and has one of the codes.
func hasCode(err error, codes ...sqlite3.ErrNo) bool {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

// isBusy says whether another program holds the lock that was asked for.
func isBusy(err error) bool { return hasCode(err, sqlite3.ErrBusy, sqlite3.ErrLocked) }

// isData says whether err lies in the data of one statement, so that undoing to a savepoint is enough. After any other error
// SQLite may have rolled back the whole transaction.
func isData(err error) bool {
	return hasCode(err, sqlite3.ErrConstraint, sqlite3.ErrTooBig, sqlite3.ErrMismatch)
}

// isFeeds says whether err may lie in what one feed sent, so that the other feeds of a transaction deserve a new try without it.
func isFeeds(err error) bool { return isData(err) || hasCode(err, sqlite3.ErrNomem) }
