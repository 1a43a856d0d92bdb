package state

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// held reads what a part has in its file: when it is opened all that it begins with.
func held(p *Part) ([]Line, error) { return read(p.dir, Info{Header: p.header, Path: p.path}) }

// TestPartResumed: cut at any byte after its header, a part is gone on with after its whole lines, under its own run.
func TestPartResumed(t *testing.T) {
	d := open(t, t.TempDir())
	h, want := header(d, 7), lines(4)
	later := h
	later.Run, later.Started = 99, h.Started.Add(time.Minute)
	whole := get(t, snapshot(t, d, h, want).Path) // with its closing line: died before the rename
	for n := bytes.IndexByte(whole, '\n') + 1; n <= len(whole); n += 1 + n%5 {
		os.Remove(d.snapshotPath(7))
		put(t, d, "7.jsonl.part", whole[:n])
		count := min(bytes.Count(whole[:n], []byte("\n"))-1, len(want))
		p, err := d.Part(later, nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if got, err := held(p); err != nil || !equal(got, want[:count]) {
			t.Fatalf("cut at %d: holds %d lines of %d, %v", n, len(got), count, err)
		}
		if err := p.Append(result(77)); err != nil {
			t.Fatal(err)
		}
		c, err := p.Close(99, testHour)
		if err != nil || c.Count != count+1 || c.Run != 99 {
			t.Fatalf("cut at %d: %+v, %v", n, c, err)
		}
		infos := list(t, d)
		if len(infos) != 1 || !infos[0].Complete || !reflect.DeepEqual(infos[0].Header, h) || *infos[0].Closing != c {
			t.Fatalf("cut at %d: %+v", n, infos)
		}
		if got, err := read(d, infos[0]); err != nil || !equal(got, append(want[:count:count], result(77))) {
			t.Fatalf("cut at %d: %d lines, %v", n, len(got), err)
		}
	}
}

// TestPartLastLineWrong: a last line that has its end but not its content (pages of it were not written) is cut off too.
func TestPartLastLineWrong(t *testing.T) {
	d := open(t, t.TempDir())
	write(t, d, header(d, 7), lines(3)).Leave()
	whole := get(t, d.partPath(7))
	put(t, d, "7.jsonl.part", bytes.Replace(whole, []byte(`"feed":3`), []byte("\x00\x00\x00\x00\x00\x00\x00\x00"), 1))
	if got, err := read(d, list(t, d)[0]); err != nil || !equal(got, lines(2)) {
		t.Errorf("read %d lines, %v", len(got), err)
	}
	if got, err := held(write(t, d, header(d, 7), nil)); err != nil || !equal(got, lines(2)) {
		t.Errorf("holds %d lines, %v", len(got), err)
	}
}

func TestPartOfAnother(t *testing.T) {
	d := open(t, t.TempDir())
	h := header(d, 7)
	write(t, d, h, lines(2)).Leave()
	for name, change := range map[string]func(*Header){
		"hour":  func(h *Header) { h.Hour = h.Hour.Add(time.Hour) },
		"host":  func(h *Header) { h.Host = "another" },
		"epoch": func(h *Header) { h.Epoch++ },
	} {
		other := h
		change(&other)
		if _, err := d.Part(other, nil); err == nil || !strings.Contains(err.Error(), d.partPath(7)) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if got, err := read(d, list(t, d)[0]); err != nil || len(got) != 2 {
		t.Errorf("it was touched: %d lines, %v", len(got), err)
	}
	whole := get(t, d.partPath(7))
	put(t, d, "7.jsonl.part", bytes.Replace(whole, []byte(`"feed":1`), []byte(`"feed":2`), 1))
	var damaged *DamagedError
	if _, err := d.Part(h, nil); !errors.As(err, &damaged) {
		t.Errorf("damaged in the middle: %v", err)
	}
	if files, _ := os.ReadDir(d.snapshots()); len(files) != 1 {
		t.Errorf("temporaries left: %v", files)
	}
	if _, err := d.Part(Header{Category: 7}, nil); err == nil {
		t.Error("a part without hour")
	}
}

// TestPartExtends: a new file with old and new lines; the old snapshot is as it was until the new one is closed.
func TestPartExtends(t *testing.T) {
	d := open(t, t.TempDir())
	h := header(d, 7)
	base := snapshot(t, d, h, lines(3))
	before := get(t, base.Path)
	p, err := d.Part(h, &base)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := held(p); err != nil || !equal(got, lines(3)) {
		t.Errorf("holds %d lines, %v", len(got), err)
	}
	if err := p.Append(result(4)); err != nil {
		t.Fatal(err)
	}
	if err := p.Leave(); err != nil {
		t.Fatal(err)
	}
	if infos := list(t, d); len(infos) != 2 || !bytes.Equal(get(t, base.Path), before) {
		t.Errorf("base was touched, %+v", infos)
	}
	if p, err = d.Part(h, &base); err != nil { // resumed: base is not copied twice
		t.Fatal(err)
	}
	c, err := p.Close(13, testHour)
	if err != nil || c.Count != 4 || c.ID == base.Closing.ID {
		t.Errorf("%+v, %v", c, err)
	}
	infos := list(t, d)
	if len(infos) != 1 {
		t.Fatalf("%+v", infos)
	}
	if got, err := read(d, infos[0]); err != nil || !equal(got, lines(4)) {
		t.Errorf("%d lines, %v", len(got), err)
	}

	put(t, d, "7.jsonl", bytes.Replace(before, []byte(`"feed":2`), []byte(`"feed":3`), 1))
	var damaged *DamagedError
	if _, err := d.Part(h, &base); !errors.As(err, &damaged) {
		t.Errorf("damaged base: %v", err)
	}
	if files, _ := os.ReadDir(d.snapshots()); len(files) != 1 {
		t.Errorf("a part or temporary is left: %v", files)
	}
}

func TestAppendRefuses(t *testing.T) {
	d := open(t, t.TempDir())
	p := write(t, d, header(d, 7), lines(1))
	if err := p.Append(Line{Feed: 2, Data: make([]byte, MaxLine)}); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	for _, data := range []string{"", "{\n}"} {
		if err := p.Append(Line{Feed: 2, Data: []byte(data)}); err == nil {
			t.Errorf("%q: no error", data)
		}
	}
	longest := Line{Feed: 3, URL: "\x01", Data: bytes.Repeat([]byte("1"), MaxLine-maxFixed-6)}
	if err := p.Append(longest); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Close(1, testHour); err != nil {
		t.Fatal(err)
	}
	r, err := openReader(list(t, d)[0].Path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	for err == nil {
		_, err = r.next()
	}
	if !errors.Is(err, io.EOF) || r.count != 2 {
		t.Errorf("%d lines, %v", r.count, err)
	}
	for name, err := range map[string]error{"append": p.Append(result(1)), "sync": p.Sync(), "close": func() error { _, err := p.Close(1, testHour); return err }()} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
	if err := p.Leave(); err != nil {
		t.Errorf("leave after close: %v", err)
	}
}

// TestPartSync: everything appended is in the file, and a second Sync has nothing to do.
func TestPartSync(t *testing.T) {
	d := open(t, t.TempDir())
	var points []string
	d.Point = func(name string) { points = append(points, name) }
	p := write(t, d, header(d, 7), lines(2))
	for range 2 {
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := read(d, list(t, d)[0]); err != nil || !equal(got, lines(2)) {
		t.Errorf("%d lines, %v", len(got), err)
	}
	if _, err := p.Close(1, testHour); err != nil {
		t.Fatal(err)
	}
	want := "part-append part-append part-before-sync part-after-sync " +
		"snapshot-closing snapshot-before-rename snapshot-after-rename snapshot-after-mtime"
	if got := strings.Join(points, " "); got != want {
		t.Errorf("points %s", got)
	}
}

// TestFailedSync: after fsync failed nobody knows what is on the disk, so the part cannot be closed. (A pipe cannot be
// synced.)
func TestFailedSync(t *testing.T) {
	d := open(t, t.TempDir())
	p := write(t, d, header(d, 7), lines(1))
	_, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.file.Close()
	p.file = pipe
	if err := p.Sync(); err == nil {
		t.Fatal("a pipe was synced")
	}
	if _, err := p.Close(1, testHour); err == nil {
		t.Error("closed after a failed sync")
	}
	for _, info := range list(t, d) {
		if info.Complete {
			t.Errorf("%+v", info)
		}
	}
}
