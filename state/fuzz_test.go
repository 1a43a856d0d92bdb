package state

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// FuzzSnapshot reads hostile bytes as a snapshot and as a part. With reseal each line first gets a right checksum, so that
// what lies behind that is reached. What is read is lines of valid JSON, no more of them than the file has; and a part that can be
// gone on with becomes a snapshot of just the lines that it held.
func FuzzSnapshot(f *testing.F) {
	d := open(f, f.TempDir())
	h := Header{Category: 7, Hour: testHour, Host: "host", Epoch: 1, Run: 12, Started: testHour}
	for n := range 4 {
		whole := get(f, snapshot(f, d, h, lines(n)).Path)
		f.Add(whole, false)
		f.Add(whole, true)
		f.Add(whole[:len(whole)*3/4], false)
		f.Add(bytes.ReplaceAll(whole, []byte(`{"id"`), []byte(`{"feed"`)), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, reseal bool) {
		if reseal {
			var out []byte
			for line := range bytes.Lines(data) {
				start := len(out)
				line = bytes.TrimSuffix(line, []byte("\n"))
				out = seal(append(out, line[:max(0, len(line)-sumLen)]...), start)
			}
			data = out
		}
		if !readable(t, data, true) && !readable(t, data, false) {
			return // without touching a disk
		}
		for _, name := range []string{"7.jsonl", "7.jsonl.part"} {
			os.Remove(d.snapshotPath(7))
			path := put(t, d, name, data)
			infos, bad, err := rejecting(d)
			if err != nil || len(infos)+len(bad) > 1 {
				t.Fatalf("%v, bad %v, %v", infos, bad, err)
			}
			os.RemoveAll(d.file("snapshots/bad"))
			if len(infos) == 0 {
				continue
			}
			got, err := read(d, infos[0])
			check(t, got, err, data)
			if infos[0].Complete {
				continue
			}
			p, partErr := d.Part(infos[0].Header, nil)
			if (err == nil) != (partErr == nil) {
				t.Fatalf("read: %v, go on: %v", err, partErr)
			}
			if partErr != nil {
				os.Remove(path)
				continue
			}
			if _, err := p.Close(1, testHour); err != nil {
				t.Fatal(err)
			}
			infos = list(t, d)
			again, err := read(d, infos[0])
			if err != nil || !infos[0].Complete || !equal(again, got) {
				t.Fatalf("closed: %d lines of %d, %v", len(again), len(got), err)
			}
		}
	})
}

// readable says whether the data has a header, and checks the lines after it.
func readable(t *testing.T, data []byte, complete bool) bool {
	r := &reader{path: "data", in: bufio.NewReader(bytes.NewReader(data)), complete: complete}
	if r.begin() != nil {
		return false
	}
	var got []Line
	var err error
	r.yield(func(l Line, e error) bool {
		if err = e; e == nil {
			got = append(got, l)
		}
		return true
	})
	check(t, got, err, data)
	return true
}

func check(t *testing.T, got []Line, err error, data []byte) {
	t.Helper()
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		t.Fatal(err)
	}
	if len(got) >= max(1, bytes.Count(data, []byte("\n"))) {
		t.Fatalf("%d lines of %d", len(got), bytes.Count(data, []byte("\n")))
	}
	for _, l := range got {
		if !json.Valid(l.Data) || bytes.IndexByte(l.Data, '\n') >= 0 {
			t.Fatalf("data %q", l.Data)
		}
	}
}
