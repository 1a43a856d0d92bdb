package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSnapshot(t *testing.T) {
	d := open(t, t.TempDir())
	for category, n := range map[int64]int{1: 0, 2: 1, 30: 50} {
		want := snapshot(t, d, header(d, category), lines(n))
		if stat, err := os.Stat(want.Path); err != nil || !stat.ModTime().Equal(testHour) || stat.Mode().Perm() != 0o600 {
			t.Errorf("category %d: mtime %v, mode %v, %v", category, stat.ModTime(), stat.Mode(), err)
		}
		if _, err := os.Stat(d.partPath(category)); err == nil {
			t.Errorf("category %d: the part is still there", category)
		}
		found := false
		for _, info := range list(t, d) {
			if info.Category != category {
				continue
			}
			found = true
			if !reflect.DeepEqual(info, want) {
				t.Errorf("got %+v %+v\nwant %+v %+v", info, info.Closing, want, want.Closing)
			}
			if got, err := read(d, info); err != nil || !equal(got, lines(n)) {
				t.Errorf("category %d: %d lines, %v", category, len(got), err)
			}
		}
		if !found {
			t.Errorf("category %d is not listed", category)
		}
	}
}

// TestReadStops: a reader that has seen enough closes the file.
func TestReadStops(t *testing.T) {
	d := open(t, t.TempDir())
	info := snapshot(t, d, header(d, 1), lines(5))
	for range d.Read(info) {
		break
	}
}

// put writes a file into the snapshots.
func put(t testing.TB, d *Dir, name string, content []byte) string {
	t.Helper()
	if err := d.makeSnapshots(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.snapshots(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func get(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestSnapshotCutAnywhere: cut at any byte a snapshot is not complete, and a part yields its whole lines and no error.
func TestSnapshotCutAnywhere(t *testing.T) {
	d := open(t, t.TempDir())
	h, want := header(d, 7), lines(6)
	whole := get(t, snapshot(t, d, h, want).Path)
	for n := range whole {
		path := put(t, d, "7.jsonl", whole[:n])
		if info, err := inspect(path); err == nil {
			t.Fatalf("cut at %d of %d: complete: %+v", n, len(whole), info)
		}
		got, err := read(d, Info{Header: h, Complete: true, Path: path})
		count := bytes.Count(whole[:n], []byte("\n")) - 1
		if err == nil || !equal(got, want[:max(0, count)]) {
			t.Fatalf("cut at %d: read %d lines of %d, %v", n, len(got), count, err)
		}

		path = put(t, d, "7.jsonl.part", whole[:n])
		info, err := inspect(path)
		if count < 0 {
			if info != nil || err != nil {
				t.Fatalf("part cut at %d: %+v, %v; want void", n, info, err)
			}
			continue
		}
		if err != nil || info.Complete || info.Closing != nil {
			t.Fatalf("part cut at %d: %+v, %v", n, info, err)
		}
		if got, err := read(d, *info); err != nil || !equal(got, want[:count]) {
			t.Fatalf("part cut at %d: read %d lines of %d, %v", n, len(got), count, err)
		}
	}
	if _, err := inspect(put(t, d, "7.jsonl", whole)); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshotBitFlips: with any bit turned over, nothing is read that was not written.
func TestSnapshotBitFlips(t *testing.T) {
	d := open(t, t.TempDir())
	h, want := header(d, 7), lines(2)
	whole := get(t, snapshot(t, d, h, want).Path)
	closing := bytes.LastIndex(whole[:len(whole)-1], []byte("\n")) + 1
	files := map[bool]string{true: put(t, d, "7.jsonl", whole), false: put(t, d, "7.jsonl.part", whole)}
	for bit := range 8 * len(whole) {
		for complete, path := range files {
			set(t, path, bit/8, whole[bit/8]^1<<(bit%8))
			info, err := inspect(path)
			if err == nil && info != nil && !info.Header.of(h) {
				t.Fatalf("bit %d: header %+v", bit, info.Header)
			}
			if complete && bit/8 >= closing && err == nil {
				t.Fatalf("bit %d, in the closing line: complete", bit)
			}
			got, err := read(d, Info{Header: h, Complete: complete, Path: path})
			if complete && err == nil {
				t.Fatalf("bit %d: read without error", bit)
			}
			if len(got) > len(want) || !equal(got, want[:len(got)]) {
				t.Fatalf("bit %d: read what was not written: %v", bit, got)
			}
			set(t, path, bit/8, whole[bit/8])
		}
	}
}

func set(t *testing.T, path string, i int, b byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{b}, int64(i)); err != nil {
		t.Fatal(err)
	}
}

// edit makes a file of edited lines, with right checksums.
func edit(t *testing.T, whole []byte, change func(lines []string) []string) []byte {
	t.Helper()
	var bodies []string
	for line := range bytes.Lines(whole) {
		body, ok := unseal(bytes.TrimSuffix(line, []byte("\n")))
		if !ok {
			t.Fatalf("not sealed: %s", line)
		}
		bodies = append(bodies, string(body))
	}
	var out []byte
	for _, body := range change(bodies) {
		start := len(out)
		out = seal(append(out, body...), start)
	}
	return out
}

// TestBadSnapshots: each is set aside, named with its reason, and holds up no other.
func TestBadSnapshots(t *testing.T) {
	d := open(t, t.TempDir())
	whole := get(t, snapshot(t, d, header(d, 7), lines(3)).Path)
	os.Remove(d.snapshotPath(7))
	replace := func(old, new string) []byte {
		return edit(t, whole, func(lines []string) []string {
			return strings.Split(strings.Replace(strings.Join(lines, "\n"), old, new, 1), "\n")
		})
	}
	tests := []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"empty", "7.jsonl", nil, "no whole header"},
		{"half", "7.jsonl", whole[:len(whole)/2], "no closing line"},
		{"other category by name", "8.jsonl", whole, "category 7"},
		{"other category by name, part", "8.jsonl.part", whole, "category 7"},
		{"other name", "07.jsonl", whole, "category 7"},
		{"older format", "7.jsonl", replace(`"format":1`, `"format":0`), "format 0"},
		{"newer format", "7.jsonl", replace(`"format":1`, `"format":2`), "format 2"},
		{"newer format, other checksums", "7.jsonl", []byte("{\"format\":2}\nxyz\n"), "format 2"},
		{"newer format, part", "7.jsonl.part", []byte("{\"format\":2}\n"), "format 2"},
		{"no format", "7.jsonl", replace(`"format":1,`, ``), "format 0"},
		{"no hour", "7.jsonl", replace(`"hour":"2026-11-30T10:30:00Z",`, ``), "without category or hour"},
		{"header of a future hour", "7.jsonl", replace(`"hour":"2026`, `"hour":"2027`), "header of 2027-11-30T10:30:00Z, closing line of 2026"},
		{"not JSON", "7.jsonl", []byte("hello\nworld\n"), "not a header"},
		{"zeros", "7.jsonl", make([]byte, 10000), "no whole header"},
		{"zeros, part", "7.jsonl.part", make([]byte, 10000), "no whole header"},
		{"a line lost", "7.jsonl", edit(t, whole, func(l []string) []string { return append(l[:2], l[3:]...) }), "the closing line is at byte"},
		{"a line twice", "7.jsonl", edit(t, whole, func(l []string) []string { return append(l[:2], l[1:]...) }), "the closing line is at byte"},
		{"more than the closing line", "7.jsonl", append(bytes.Clone(whole), whole...), "the closing line is at byte"},
		{"impossible count", "7.jsonl", replace(`"count":3`, `"count":300`), "cannot be in"},
		{"count nothing", "7.jsonl", replace(`"count":3`, `"count":0`), "cannot be in"},
		{"negative count", "7.jsonl", replace(`"count":3`, `"count":-3`), "without id or count"},
		{"no id", "7.jsonl", edit(t, whole, func(l []string) []string {
			i := strings.Index(l[4], `,"run"`)
			l[4] = `{"id":""` + l[4][i:]
			return l
		}), "without id or count"},
	}
	good := snapshot(t, d, header(d, 1), lines(1))
	for _, tt := range tests {
		path := put(t, d, tt.file, tt.content)
		var damaged *DamagedError
		for i, look := range []func(*Dir) ([]Info, []*DamagedError, error){(*Dir).Look, (*Dir).Look, rejecting} {
			infos, bad, err := look(d)
			if err != nil || len(infos) != 1 || infos[0].Path != good.Path || len(bad) != 1 {
				t.Fatalf("%s: %v, bad %v, %v", tt.name, infos, bad, err)
			}
			if damaged = bad[0]; damaged.Path != path || !strings.Contains(damaged.Error(), tt.want) {
				t.Errorf("%s: %v; want %q", tt.name, damaged, tt.want)
			}
			if i < 2 && damaged.MovedTo != "" {
				t.Errorf("%s: who only looked has moved it to %s", tt.name, damaged.MovedTo)
			}
		}
		if moved := get(t, damaged.MovedTo); !bytes.Equal(moved, tt.content) || !strings.Contains(damaged.Error(), damaged.MovedTo) {
			t.Errorf("%s: %v: %d bytes there", tt.name, damaged, len(moved))
		}
		if len(list(t, d)) != 1 {
			t.Errorf("%s: reported twice", tt.name)
		}
	}
	if aside, err := os.ReadDir(filepath.Join(d.snapshots(), "bad")); err != nil || len(aside) != len(tests) {
		t.Errorf("%d files set aside of %d, %v", len(aside), len(tests), err)
	}
}

// TestSnapshotsNotFiles: what is no file, or not ours, neither blocks nor fails the list.
func TestSnapshotsNotFiles(t *testing.T) {
	d := open(t, t.TempDir())
	put(t, d, "notes.txt", []byte("mine"))
	for _, name := range []string{"1.jsonl", "2.jsonl.part"} {
		if err := os.Mkdir(filepath.Join(d.snapshots(), name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/zero", d.snapshotPath(3)); err != nil {
		t.Fatal(err)
	}
	infos, bad, err := rejecting(d)
	if len(infos) != 0 || len(bad) != 3 || err != nil {
		t.Errorf("%v, bad %v, %v", infos, bad, err)
	}
	if _, err := os.Stat(filepath.Join(d.snapshots(), "notes.txt")); err != nil {
		t.Error(err)
	}
}

// TestReadDamage: damage in the middle is named with its line, and what stood before it is read.
func TestReadDamage(t *testing.T) {
	d := open(t, t.TempDir())
	h := header(d, 7)
	whole := get(t, snapshot(t, d, h, lines(5)).Path)
	line := func(i int, s string) func([]string) []string {
		return func(l []string) []string { l[i] = s; return l }
	}
	unsealed := bytes.Replace(whole, []byte("item 4"), []byte("item 5"), 1) // in line 5
	tests := []struct {
		name    string
		content []byte
		good    int
		want    string
		whole   bool // damage only of a complete snapshot
	}{
		{"checksum", unsealed, 3, "line 5: wrong checksum", false},
		{"no data", edit(t, whole, line(3, `{"feed":3,"url":"x","token":1`)), 2, "line 4: not a result", false},
		{"data not JSON", edit(t, whole, line(3, `{"feed":3,"url":"x","token":1,"data":{"a"}`)), 2, "line 4: not a result", false},
		{"data and more", edit(t, whole, line(3, `{"feed":3,"url":"x","token":1,"data":{},"b":1`)), 2, "line 4: not a result", false},
		{"feed not a number", edit(t, whole, line(3, `{"feed":x,"url":"x","token":1,"data":{}`)), 2, "line 4: not a result", false},
		{"url not ended", edit(t, whole, line(3, `{"feed":3,"url":"x\",`)), 2, "line 4: not a result", false},
		{"another line", edit(t, whole, line(3, `{"hello":1`)), 2, "line 4: not a result", false},
		{"empty line", edit(t, whole, line(3, ``)), 2, "line 4: not a result", false},
		{"a header again", edit(t, whole, func(l []string) []string { l[3] = l[0]; return l }), 2, "line 4: not a result", false},
		{"closed before the end", edit(t, whole, func(l []string) []string { l[3] = l[6]; return l }), 2, "line 4: not a result", false},
		{"a line lost", edit(t, whole, func(l []string) []string { return append(l[:3], l[4:]...) }), 4, "line 6: the closing line is at byte", true},
		{"miscounted", edit(t, whole, func(l []string) []string {
			l[6] = strings.Replace(l[6], `"count":5`, `"count":4`, 1)
			return l
		}), 5, "5 results, and the closing line counts 4", true},
		{"no closing line", edit(t, whole, func(l []string) []string { return l[:6] }), 5, "line 7: the closing line is missing", true},
	}
	for _, tt := range tests {
		for _, complete := range []bool{true, false} {
			path := put(t, d, map[bool]string{true: "7.jsonl", false: "7.jsonl.part"}[complete], tt.content)
			got, err := read(d, Info{Header: h, Complete: complete, Path: path})
			if tt.whole && !complete {
				if err != nil {
					t.Errorf("%s, part: %v", tt.name, err)
				}
				continue
			}
			var damaged *DamagedError
			if len(got) != tt.good || !errors.As(err, &damaged) || damaged.Path != path || !strings.Contains(damaged.Reason, tt.want) {
				t.Errorf("%s, complete %v: %d lines, %v; want %d, %q", tt.name, complete, len(got), err, tt.good, tt.want)
			}
		}
	}
}

// TestReadAnother: between Look and Read the file was replaced.
func TestReadAnother(t *testing.T) {
	d := open(t, t.TempDir())
	info := snapshot(t, d, header(d, 7), lines(2))
	h := header(d, 7)
	h.Hour = h.Hour.Add(time.Hour)
	snapshot(t, d, h, lines(3))
	if got, err := read(d, info); err == nil || len(got) != 0 {
		t.Errorf("read %d lines of another hour, %v", len(got), err)
	}
}

// TestReadHostileLength: neither a line without end nor a header without end is read into memory whole.
func TestReadHostileLength(t *testing.T) {
	d := open(t, t.TempDir())
	begin := get(t, snapshot(t, d, header(d, 7), nil).Path)
	os.Remove(d.snapshotPath(7))
	path := put(t, d, "7.jsonl.part", begin[:bytes.IndexByte(begin, '\n')+1])
	if err := os.Truncate(path, 10<<30); err != nil { // sparse
		t.Skipf("no sparse file of 10 GiB here: %v", err)
	}
	var damaged *DamagedError
	if _, err := read(d, list(t, d)[0]); !errors.As(err, &damaged) || !strings.Contains(damaged.Reason, "line 2: over") {
		t.Errorf("got %v", err)
	}
	path = put(t, d, "8.jsonl", nil)
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Fatal(err)
	}
	if _, err := read(d, Info{Header: header(d, 8), Complete: true, Path: path}); !errors.As(err, &damaged) || !strings.Contains(damaged.Reason, "line 1: over") {
		t.Errorf("got %v", err)
	}
}

func TestSetAsideAndDiscard(t *testing.T) {
	d := open(t, t.TempDir())
	for range 3 { // the names in bad/ are free again and again
		if err := d.SetAside(snapshot(t, d, header(d, 1), lines(1))); err != nil {
			t.Fatal(err)
		}
	}
	if aside, err := os.ReadDir(filepath.Join(d.snapshots(), "bad")); err != nil || len(aside) != 3 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	write(t, d, header(d, 2), lines(1)).Leave()
	infos := list(t, d)
	if len(infos) != 1 || infos[0].Complete {
		t.Fatalf("%+v", infos)
	}
	for range 2 {
		if err := d.Discard(infos[0]); err != nil {
			t.Error(err)
		}
	}
	if infos := list(t, d); len(infos) != 0 {
		t.Errorf("%+v", infos)
	}
}

// TestSnapshotsBesideARun: what another process lists while parts become snapshots misses none and finds nothing bad.
func TestSnapshotsBesideARun(t *testing.T) {
	d := open(t, t.TempDir())
	done := make(chan error, 1)
	go func() {
		for i := range 60 {
			p, err := d.Part(header(d, int64(i%3+1)), nil)
			if err == nil {
				err = p.Append(result(1))
			}
			if err == nil {
				_, err = p.Close(1, testHour)
			}
			if err != nil {
				done <- fmt.Errorf("snapshot %d: %w", i, err)
				return
			}
		}
		done <- nil
	}()
	seen := 0
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			if got := len(list(t, d)); got != 3 {
				t.Errorf("%d snapshots at the end", got)
			}
			return
		default:
		}
		categories := map[int64]bool{}
		for _, info := range list(t, d) {
			categories[info.Category] = true
		}
		if len(categories) < seen {
			t.Fatalf("%d categories after %d", len(categories), seen)
		}
		seen = len(categories)
	}
}
