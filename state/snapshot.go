package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// A snapshot file is lines of JSON: a header, one line a feed, and a closing line. Each line's last member is "sum", the
// CRC-32C (RFC 3720, appendix B.4, in 8 hexadecimal digits) of all bytes of the line before that member. A file without a
// right closing line is not a snapshot.
const (
	format      = 1 // of the files that this version writes and reads
	snapshotExt = ".jsonl"
	partExt     = snapshotExt + ".part"

	maxFixed  = 128      // bytes of a line without URL and data
	maxHeader = 4 << 10  // bytes of a header or closing line
	writeSize = 64 << 10 // bytes gathered before they are written; hundreds of parts may be open
	readSize  = 64 << 10
)

// MaxLine bounds a line, in bytes.
const MaxLine = 64 << 20

// ErrTooLong: a line over 64 MiB, which would not be read back. The part is as it was.
var ErrTooLong = errors.New("line over 64 MiB")

// Header begins every snapshot file and says whose it is.
type Header struct {
	Category int64     `json:"category"`
	Hour     time.Time `json:"hour"`
	Host     string    `json:"host"`
	Epoch    int64     `json:"epoch"`
	Run      int64     `json:"run"`
	Started  time.Time `json:"started"`
}

// Line is one feed's result. Data is opaque to this package.
type Line struct {
	Feed  int64
	URL   string
	Token int64
	Data  json.RawMessage
}

// Closing is the last line of a complete snapshot.
type Closing struct {
	ID    string    `json:"id"` // random
	Run   int64     `json:"run"`
	Hour  time.Time `json:"hour"`
	Count int       `json:"count"` // lines before it
	At    time.Time `json:"at"`
}

// Info is one snapshot file as found on disk, proved by its header and (if complete) closing line, not by its name or mtime.
type Info struct {
	Header
	Closing  *Closing // nil for a .part
	Complete bool
	Path     string
}

// DamagedError names a file that does not prove itself, and why.
type DamagedError struct {
	Path, Reason string
	MovedTo      string // where it is now; "" if it was not moved
}

// Error gives all of it.
func (e *DamagedError) Error() string {
	if e.MovedTo == "" {
		return e.Path + ": " + e.Reason
	}
	return e.Path + ": " + e.Reason + " (moved to " + e.MovedTo + ")"
}

// Reject moves a damaged file to snapshots/bad/, so that it is reported once, and says in the copy of e that it returns where it
// is now, or in its reason why it was not moved. The caller holds the run lock.
func (d *Dir) Reject(e *DamagedError) *DamagedError {
	moved, err := d.aside(e.Path)
	if err != nil {
		return &DamagedError{Path: e.Path, Reason: fmt.Sprintf("%s (and cannot be set aside: %v)", e.Reason, err)}
	}
	return &DamagedError{Path: e.Path, Reason: e.Reason, MovedTo: moved}
}

// headerLine and closingLine are the two as they stand in the file.
type headerLine struct {
	Format int `json:"format"`
	Header
}

type closingLine struct {
	Closing
	Offset int64 `json:"offset"` // where in the file this line begins
}

// of says whether two headers are of the same work; another run of it may have begun it.
func (h Header) of(other Header) bool {
	return h.Category == other.Category && h.Hour.Equal(other.Hour) && h.Host == other.Host && h.Epoch == other.Epoch
}

func (h Header) utc() Header {
	h.Hour, h.Started = h.Hour.UTC(), h.Started.UTC()
	return h
}

// parseHeader reads the first line of a file, without its newline. The reason is "" if it is a header of this format.
func parseHeader(line []byte) (h Header, reason string) {
	var first headerLine
	if json.Unmarshal(line, &first) != nil {
		return h, "line 1: not a header"
	}
	if first.Format != format { // before the checksum, for another format may have another
		return h, fmt.Sprintf("format %d, and this version of crawl knows only format %d", first.Format, format)
	}
	if _, ok := unseal(line); !ok {
		return h, "line 1: wrong checksum"
	}
	if first.Category <= 0 || first.Hour.IsZero() {
		return h, "line 1: a header without category or hour"
	}
	return first.Header.utc(), ""
}

// parseClosing reads the last line of a file, which begins at offset, without its newline.
func parseClosing(line []byte, offset int64, h Header) (c Closing, reason string) {
	var last closingLine
	if _, ok := unseal(line); !ok || !isClosing(line) || json.Unmarshal(line, &last) != nil {
		return c, "no closing line"
	}
	switch {
	case last.ID == "" || last.Count < 0:
		return c, "a closing line without id or count"
	case last.Offset != offset:
		return c, fmt.Sprintf("the closing line is at byte %d and not at %d", offset, last.Offset)
	case !last.Hour.Equal(h.Hour):
		return c, fmt.Sprintf("header of %s, closing line of %s", h.Hour.Format(time.RFC3339), last.Hour.Format(time.RFC3339))
	}
	c = last.Closing
	c.Hour, c.At = c.Hour.UTC(), c.At.UTC()
	return c, ""
}

// SetAside moves a snapshot file to snapshots/bad/.
func (d *Dir) SetAside(info Info) error {
	if _, err := d.aside(info.Path); err != nil {
		return explain("set aside", info.Path, err)
	}
	return nil
}

// Discard removes a part whose lines are merged or void. It need not be durable: merging them again changes nothing.
func (d *Dir) Discard(info Info) error {
	if err := os.Remove(info.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return explain("discard", info.Path, err)
	}
	return nil
}
