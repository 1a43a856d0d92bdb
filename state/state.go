// Package state is what this one machine remembers between invocations: the cron hour, the run lock, the in-progress
// flag, the kill flag and the snapshots. It knows nothing of HTTP, feeds or SQL.
//
// All of it lies in one data directory, which a Dir stands for. Files that are written whole are replaced atomically and
// durably (temporary file, fsync, rename, fsync of the directory); snapshots grow line by line and prove themselves by
// checksums and a closing line. Names, times and modes of files are never trusted.
package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Dir is an open data directory.
type Dir struct {
	Path string // absolute
	ID   string // random identity of the directory, bound to the machine: "host" in the database
	// Point, if set, is called at each named step that a crash could separate from the next (tests kill there): "flag-up",
	// "part-append", "part-before-sync", "part-after-sync", "snapshot-closing", "snapshot-before-rename",
	// "snapshot-after-rename", "snapshot-after-mtime", "flag-before-down", "flag-after-down".
	Point func(name string)
}

// Open creates the directory (0700) where it is missing, and reads or makes its identity. A copied directory (another
// machine id or another inode) gets a new identity, and its flag and snapshots are set aside in snapshots/bad/. Nothing
// is written to a directory that has its identity, so a read-only one can be opened too.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find data directory %s: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, explain("create data directory", abs, err)
	}
	d := &Dir{Path: abs}
	if d.ID, err = d.identity(); err != nil {
		return nil, err
	}
	return d, nil
}

// Database is the default path of the database in this directory.
func (d *Dir) Database() string { return d.file("crawl.db") }

func (d *Dir) file(name string) string { return filepath.Join(d.Path, name) }

func (d *Dir) snapshots() string { return d.file("snapshots") }

func (d *Dir) snapshotPath(category int64) string {
	return filepath.Join(d.snapshots(), strconv.FormatInt(category, 10)+snapshotExt)
}

func (d *Dir) partPath(category int64) string {
	return filepath.Join(d.snapshots(), strconv.FormatInt(category, 10)+partExt)
}

func (d *Dir) point(name string) {
	if d.Point != nil {
		d.Point(name)
	}
}
