package state

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"crawl/state/files"
)

// Part is a snapshot being written. One goroutine at a time.
//
// After an error of the disk it takes no more lines and cannot be closed, only left: what it holds is cut to its whole
// lines when it is opened again.
type Part struct {
	dir    *Dir
	header Header
	path   string
	file   *os.File // nil once closed or left
	buf    []byte   // what was appended and not yet written
	size   int64    // of the file, with buf
	count  int      // lines
	held   int      // lines when it was opened
	synced int64    // size when it was last synced
	named  bool     // its name is durable
	err    error    // the first error of the disk
}

// Part opens <category>.jsonl.part for appending. If there is one with the same header (category, hour, host, epoch) its
// whole lines are kept, under that header's run and start, and a broken last line is cut off; anything else is an error
// (the caller merges or discards it first).
// base, if not nil, is a complete snapshot whose lines are copied in first (extending a snapshot: a new file, never an
// append). It is not looked at if there is a part: that had it copied in when it was made.
//
// Either way a new file is written and takes the name when it has all that it begins with; so there is no moment at which a crash
// leaves a part without a header or without its base.
func (d *Dir) Part(h Header, base *Info) (*Part, error) {
	if h.Category <= 0 || h.Hour.IsZero() {
		return nil, fmt.Errorf("open part: category %d, hour %v", h.Category, h.Hour)
	}
	p := &Part{dir: d, header: h.utc(), path: d.partPath(h.Category)}
	source, err := p.source(base)
	if err != nil {
		return nil, err
	}
	if source != nil {
		defer source.close()
	}
	if err := d.makeSnapshots(); err != nil {
		return nil, err
	}
	if err := p.create(source); err != nil {
		return nil, err
	}
	return p, nil
}

// source opens what the part begins with: the part that is there, else base, else nothing (nil).
func (p *Part) source(base *Info) (*reader, error) {
	path, complete := p.path, false
	if info, err := inspect(path); errors.Is(err, fs.ErrNotExist) || err == nil && info == nil {
		if base == nil {
			return nil, nil
		}
		path, complete = base.Path, true
	} else if err != nil {
		return nil, err
	}
	r, err := openReader(path, complete)
	if err != nil {
		return nil, err
	}
	if !r.header.of(p.header) {
		r.close()
		return nil, fmt.Errorf("open part: %s is of another hour, directory or database (hour %s, host %s, epoch %d)",
			path, r.header.Hour.Format(time.RFC3339), r.header.Host, r.header.Epoch)
	}
	if !complete {
		p.header = r.header
	}
	return r, nil
}

// makeSnapshots makes the directory of snapshots.
func (d *Dir) makeSnapshots() error {
	if err := makeDir(d.snapshots()); err != nil {
		return explain("make the directory of snapshots", d.snapshots(), err)
	}
	return nil
}

// create writes the new file.
func (p *Part) create(source *reader) (err error) {
	header, err := sealJSON(headerLine{Format: format, Header: p.header})
	if err != nil {
		return fmt.Errorf("encode header: %w", err)
	}
	if p.file, err = os.CreateTemp(p.dir.snapshots(), temporary+"*"); err != nil {
		return explain("create part in", p.dir.snapshots(), err)
	}
	files.Give(p.file)
	defer func() {
		if err != nil {
			p.file.Close()
			os.Remove(p.file.Name())
		}
	}()
	p.buf = append(p.buf, header...)
	p.size = int64(len(header))
	if err := p.copy(source); err != nil {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	if p.held = p.count; p.held > 0 { // else there is nothing that a power cut could lose
		if err := p.sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(p.file.Name(), p.path); err != nil {
		return explain("create part", p.path, err)
	}
	return nil
}

// copy appends the verified lines of another file as they are.
func (p *Part) copy(source *reader) error {
	for source != nil {
		body, err := source.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := parseLine(body); err != nil { // else the new snapshot could not be read
			return source.damaged("%v", err)
		}
		start := len(p.buf)
		p.buf = seal(append(p.buf, body...), start)
		if err := p.appended(start); err != nil {
			return err
		}
	}
	return nil
}

// Append adds a line (buffered). Data must be one line of valid JSON: that it is valid is found out by reading. A line
// that is refused for its length (ErrTooLong) or its shape leaves the part as it was.
func (p *Part) Append(l Line) error {
	if err := p.usable(); err != nil {
		return err
	}
	if len(l.Data) == 0 || bytes.IndexByte(l.Data, '\n') >= 0 {
		return fmt.Errorf("append feed %d to %s: its data is not one line of JSON", l.Feed, p.path)
	}
	if len(l.Data)+6*len(l.URL)+maxFixed > MaxLine { // a quoted byte may become six
		return fmt.Errorf("append feed %d to %s: %w", l.Feed, p.path, ErrTooLong)
	}
	start := len(p.buf)
	p.buf = appendLine(p.buf, l)
	if err := p.appended(start); err != nil {
		return err
	}
	p.dir.point("part-append")
	return nil
}

// appended counts the line that begins at start of buf, and writes buf when that is full.
func (p *Part) appended(start int) error {
	p.count++
	p.size += int64(len(p.buf) - start)
	if len(p.buf) < writeSize {
		return nil
	}
	return p.flush()
}

// Sync makes everything appended durable.
func (p *Part) Sync() error {
	if err := p.usable(); err != nil || p.synced == p.size {
		return err
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.dir.point("part-before-sync")
	if err := p.sync(); err != nil {
		return err
	}
	if !p.named {
		if err := files.SyncDir(p.dir.snapshots()); err != nil {
			return p.fail("sync", err)
		}
		p.named = true
	}
	p.dir.point("part-after-sync")
	return nil
}

// Close writes the closing line, syncs, renames the file into place, sets its mtime to the hour and syncs the directory.
// After an error the part is left, or, if that came after the rename, the snapshot is there.
func (p *Part) Close(run int64, at time.Time) (Closing, error) {
	if err := p.usable(); err != nil {
		return Closing{}, err
	}
	defer p.shut()
	c := Closing{ID: strings.ToLower(rand.Text()), Run: run, Hour: p.header.Hour, Count: p.count, At: at.Round(0).UTC()}
	line, err := sealJSON(closingLine{Closing: c, Offset: p.size})
	if err != nil {
		return Closing{}, fmt.Errorf("encode closing line: %w", err)
	}
	p.buf = append(p.buf, line...)
	if err := p.flush(); err != nil {
		return Closing{}, err
	}
	p.dir.point("snapshot-closing")
	if err := p.sync(); err != nil {
		return Closing{}, err
	}
	if err := p.shut(); err != nil {
		return Closing{}, err
	}
	return c, p.publish()
}

// publish gives the closed file its name.
func (p *Part) publish() error {
	path := p.dir.snapshotPath(p.header.Category)
	p.dir.point("snapshot-before-rename")
	if err := os.Rename(p.path, path); err != nil {
		return explain("close snapshot", path, err)
	}
	p.dir.point("snapshot-after-rename")
	if err := os.Chtimes(path, time.Time{}, p.header.Hour); err != nil {
		return explain("set time of snapshot", path, err)
	}
	p.dir.point("snapshot-after-mtime")
	if err := files.SyncDir(p.dir.snapshots()); err != nil {
		return explain("make durable", p.dir.snapshots(), err)
	}
	return nil
}

// Leave closes the file, synced, and leaves the part for the next invocation. After Close or Leave it does nothing.
func (p *Part) Leave() error {
	if p.file == nil {
		return nil
	}
	err := p.Sync()
	return errors.Join(err, p.shut())
}

func (p *Part) usable() error {
	if p.err == nil && p.file == nil {
		return fmt.Errorf("part %s: %w", p.path, fs.ErrClosed)
	}
	return p.err
}

// flush writes what was appended.
func (p *Part) flush() error {
	if _, err := p.file.Write(p.buf); err != nil {
		return p.fail("write", err)
	}
	if p.buf = p.buf[:0]; cap(p.buf) > 4*writeSize {
		p.buf = nil
	}
	return nil
}

func (p *Part) sync() error {
	if err := p.file.Sync(); err != nil {
		return p.fail("sync", err)
	}
	p.synced = p.size
	return nil
}

// fail remembers an error of the disk: after it nobody knows what is in the file.
func (p *Part) fail(doing string, err error) error {
	p.err = explain(doing+" part", p.path, err)
	return p.err
}

func (p *Part) shut() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	p.file = nil
	if err != nil {
		return p.fail("close", err)
	}
	return nil
}
