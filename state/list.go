package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Look lists complete snapshots and parts, and changes nothing. A file that proves nothing is returned in bad, for the holder of the run
// lock to Reject. A file that may not be read is not bad, and an error. Cheap: reads only each file's first and last line.
func (d *Dir) Look() (infos []Info, bad []*DamagedError, err error) {
	for range 10 { // again when a file went while it was listed: a part may have become a snapshot that was not there before
		if infos, bad, err = d.list(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return nil, nil, explain("list snapshots", d.snapshots(), err)
	}
	return infos, bad, nil
}

func (d *Dir) list() (infos []Info, bad []*DamagedError, err error) {
	paths, err := d.snapshotFiles()
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		info, err := inspect(path)
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
			bad = append(bad, damaged)
		case err != nil:
			return nil, nil, err
		case info != nil:
			infos = append(infos, *info)
		}
	}
	return infos, bad, nil
}

// snapshotFiles lists the paths of all snapshots and parts, by their names alone.
func (d *Dir) snapshotFiles() ([]string, error) {
	entries, err := os.ReadDir(d.snapshots())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, temporary) && (strings.HasSuffix(name, snapshotExt) || strings.HasSuffix(name, partExt)) {
			paths = append(paths, filepath.Join(d.snapshots(), name))
		}
	}
	return paths, nil
}

// inspect reads the first and the last line of a file. The error is a *DamagedError if they do not prove it; nil, nil for
// a part that holds nothing.
func inspect(path string) (*Info, error) {
	damaged := func(format string, args ...any) (*Info, error) {
		return nil, &DamagedError{Path: path, Reason: fmt.Sprintf(format, args...)}
	}
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return damaged("not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	first, last, err := ends(file)
	if errors.Is(err, syscall.EIO) {
		return damaged("%v", err)
	}
	if err != nil {
		return nil, err
	}

	base, part := strings.CutSuffix(filepath.Base(path), ".part")
	if part && first.void {
		return nil, nil
	}
	if first.text == nil {
		return damaged("no whole header")
	}
	header, reason := parseHeader(first.text)
	if reason != "" {
		return damaged("%s", reason)
	}
	if name := strings.TrimSuffix(base, snapshotExt); name != strconv.FormatInt(header.Category, 10) {
		return damaged("its header is of category %d", header.Category)
	}
	if part {
		return &Info{Header: header, Path: path}, nil
	}
	closing, reason := parseClosing(last.text, last.offset, header)
	if reason != "" {
		return damaged("%s", reason)
	}
	space := last.offset - int64(len(first.text)+1)
	if int64(closing.Count) > space/int64(minLine) || (closing.Count == 0) != (space == 0) {
		return damaged("%d results cannot be in %d bytes", closing.Count, space)
	}
	return &Info{Header: header, Closing: &closing, Complete: true, Path: path}, nil
}

// void says whether a part holds nothing: a power cut may leave one without a whole header.
func void(part string) bool {
	info, err := inspect(part)
	return info == nil && err == nil
}

// minLine is the length of the shortest line.
const minLine = len(`{"feed":0,"url":"","token":0,"data":0`) + sumLen + 1

// end is the first or last line of a file: nil if it is not whole, or longer than such a line may be.
type end struct {
	text   []byte
	offset int64
	void   bool // the whole file is not even one line
}

// ends reads the first and the last line of a file.
func ends(file *os.File) (first, last end, err error) {
	info, err := file.Stat()
	if err != nil {
		return first, last, err
	}
	size := info.Size()
	buf := make([]byte, min(size, maxHeader))
	if _, err := io.ReadFull(file, buf); err != nil {
		return first, last, err
	}
	if i := bytes.IndexByte(buf, '\n'); i >= 0 {
		first.text = buf[:i]
	}
	first.void = first.text == nil && size < maxHeader

	begin := size - int64(len(buf))
	buf = make([]byte, len(buf))
	if _, err := file.ReadAt(buf, begin); err != nil {
		return first, last, err
	}
	if n := len(buf); n > 0 && buf[n-1] == '\n' {
		i := bytes.LastIndexByte(buf[:n-1], '\n') + 1
		last.text, last.offset = buf[i:n-1], begin+int64(i)
	}
	return first, last, nil
}
