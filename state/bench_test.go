package state

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// of returns n lines whose data is of the given size.
func of(n, size int) []Line {
	data := append(append([]byte(`{"text":"`), bytes.Repeat([]byte("Lorem ipsum <b>\\\"dolor\\\"</b> "), size/32)...), `"}`...)
	all := make([]Line, n)
	for i := range all {
		all[i] = Line{Feed: int64(i), URL: fmt.Sprintf("https://www.example.org/feeds/%d/index.xml", i), Token: 1, Data: data}
	}
	return all
}

var sizes = []int{100, 1000, 30000}

func bytesOf(all []Line) (n int64) {
	for _, l := range all {
		n += int64(len(appendLine(nil, l)))
	}
	return n
}

// BenchmarkAppend is what a feed costs: without the disk's part of it, for that is shared by a whole snapshot.
func BenchmarkAppend(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			d := open(b, b.TempDir())
			p := write(b, d, header(d, 1), nil)
			null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
			if err != nil {
				b.Fatal(err)
			}
			p.file.Close()
			p.file = null
			all := of(100, size)
			b.SetBytes(bytesOf(all) / 100)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := p.Append(all[i%100]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite is a whole snapshot, opened, written, synced and closed.
func BenchmarkWrite(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("10MB/%d", size), func(b *testing.B) {
			d := open(b, b.TempDir())
			all := of(10_000_000/size, size)
			b.SetBytes(bytesOf(all))
			for b.Loop() {
				snapshot(b, d, header(d, 1), all)
			}
		})
	}
}

// BenchmarkRead verifies checksums and JSON.
func BenchmarkRead(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("10MB/%d", size), func(b *testing.B) {
			d := open(b, b.TempDir())
			all := of(10_000_000/size, size)
			info := snapshot(b, d, header(d, 1), all)
			b.SetBytes(bytesOf(all))
			for b.Loop() {
				n := 0
				for _, err := range d.Read(info) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != len(all) {
					b.Fatal(n)
				}
			}
		})
	}
}

// BenchmarkVerify is Read without the parsing of JSON.
func BenchmarkVerify(b *testing.B) {
	d := open(b, b.TempDir())
	all := of(10_000, 1000)
	info := snapshot(b, d, header(d, 1), all)
	b.SetBytes(bytesOf(all))
	for b.Loop() {
		r, err := openReader(info.Path, true)
		for err == nil {
			_, err = r.next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		r.close()
	}
}

// BenchmarkNothingToDo is this room's part of an invocation that finds every category done: 50 of them.
func BenchmarkNothingToDo(b *testing.B) {
	dir := b.TempDir()
	d := open(b, dir)
	for category := range int64(50) {
		snapshot(b, d, header(d, category+1), lines(20))
	}
	for b.Loop() {
		d := open(b, dir)
		l, err := d.Lock(Holder{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := d.LookFlag(); err != nil {
			b.Fatal(err)
		}
		if _, err := d.StartMinute(); err != nil {
			b.Fatal(err)
		}
		list(b, d)
		if err := l.Unlock(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSmall(b *testing.B) {
	d := open(b, b.TempDir())
	l, err := d.Lock(Holder{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Unlock()
	if err := d.KeepHighestSeq(7); err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"Killed":         func() error { d.Killed(); return nil },
		"Note":           func() error { return l.Note(Holder{Run: 1, Kind: "run", Phase: "fetch", Since: testHour}) },
		"Holder":         func() error { _, err := d.Holder(); return err },
		"KeepHighestSeq": func() error { return d.KeepHighestSeq(7) },
		"Hour":           func() error { Hour(time.Now(), 30); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
