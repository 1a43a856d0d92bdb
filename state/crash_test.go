package state

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// crash writes a flag and an extended snapshot, and kills itself at the n-th time it comes to a point ("name n").
func crash(d *Dir, at string) error {
	d.Point = func(name string) {
		if name == at {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if err := d.SetFlag(Flag{Run: 2, Hour: testHour}); err != nil {
		return err
	}
	var base *Info
	infos, _, err := d.Look()
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Complete {
			base = &info
		}
	}
	p, err := d.Part(header(d, 7), base)
	if err != nil {
		return err
	}
	for i := p.held; i < 8; i++ {
		if i == 6 {
			if err := p.Sync(); err != nil {
				return err
			}
		}
		if err := p.Append(result(i + 1)); err != nil {
			return err
		}
	}
	if _, err := p.Close(2, testHour); err != nil {
		return err
	}
	return d.ClearFlag()
}

// TestCrashAtEveryPoint: kill -9 at each named point, also of the one that repairs; nothing is bad, nothing lost that was
// there, and the one that lives to the end comes to the same snapshot.
func TestCrashAtEveryPoint(t *testing.T) {
	points := []string{"flag-up", "part-append", "part-before-sync", "part-after-sync", "snapshot-closing", "snapshot-before-rename",
		"snapshot-after-rename", "snapshot-after-mtime", "flag-before-down", "flag-after-down"}
	for _, point := range points {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := open(t, t.TempDir())
			snapshot(t, d, header(d, 7), lines(3))
			for range 2 {
				c := start(t, d.Path, "crash "+point)
				if err := c.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					if point == "part-append" || strings.HasPrefix(point, "part-") {
						break // all lines are there: the repair does not come to this point
					}
					t.Fatalf("ended by %v", err)
				}
				take(t, d, Holder{}).Unlock()
				for _, info := range list(t, d) {
					got, err := read(d, info)
					if err != nil || !equal(got, lines(len(got))) || len(got) < 3 {
						t.Errorf("complete %v: %d lines, %v", info.Complete, len(got), err)
					}
				}
			}
			start(t, d.Path, "crash nowhere").end(t)
			infos := list(t, d)
			if len(infos) != 1 || !infos[0].Complete {
				t.Fatalf("%+v", infos)
			}
			if got, err := read(d, infos[0]); err != nil || !equal(got, lines(8)) {
				t.Errorf("%d lines, %v", len(got), err)
			}
			if f, err := d.LookFlag(); f != nil || err != nil {
				t.Errorf("flag %+v, %v", f, err)
			}
		})
	}
}
