package state

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"
)

func TestFlag(t *testing.T) {
	d := open(t, t.TempDir())
	var points []string
	d.Point = func(name string) { points = append(points, name) }
	if f, err := d.LookFlag(); f != nil || err != nil {
		t.Errorf("none: %+v, %v", f, err)
	}
	want := Flag{Run: 3, Hour: testHour, Kind: "run", Started: testHour.Add(time.Second), Options: json.RawMessage(`{"a":1}`)}
	for _, forced := range []time.Time{{}, testHour.Add(time.Minute)} {
		want.Forced = forced
		if err := d.SetFlag(want); err != nil {
			t.Fatal(err)
		}
		if f, err := d.LookFlag(); err != nil || !reflect.DeepEqual(*f, want) {
			t.Errorf("got %+v, %v; want %+v", f, err, want)
		}
	}
	for range 2 {
		if err := d.ClearFlag(); err != nil {
			t.Error(err)
		}
	}
	if f, err := d.LookFlag(); f != nil || err != nil {
		t.Errorf("cleared: %+v, %v", f, err)
	}
	if want := []string{"flag-up", "flag-up", "flag-before-down", "flag-after-down", "flag-before-down", "flag-after-down"}; !reflect.DeepEqual(points, want) {
		t.Errorf("points %v", points)
	}
}

func TestDamagedFlag(t *testing.T) {
	d := open(t, t.TempDir())
	for _, content := range []string{"", "{", `{"run":1}`, "null", "[]", `{"hour":"yesterday"}`} {
		if err := os.WriteFile(d.file(flagName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		for range 2 {
			if f, err := d.LookFlag(); f != nil || !errors.As(err, &damaged) || damaged.Path != d.file(flagName) {
				t.Errorf("%q: %+v, %v", content, f, err)
			}
		}
		if moved := d.Reject(damaged).MovedTo; string(get(t, moved)) != content {
			t.Errorf("%q was moved to %q", content, moved)
		}
		if f, err := d.LookFlag(); f != nil || err != nil {
			t.Errorf("%q, again: %+v, %v", content, f, err)
		}
	}
}

// What is no file is a damaged flag, and nobody waits for a pipe to say something.
func TestFlagThatIsNoFile(t *testing.T) {
	d := open(t, t.TempDir())
	for name, create := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/dev/zero", path) },
		"a pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		if err := create(d.file(flagName)); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if f, err := d.LookFlag(); f != nil || !errors.As(err, &damaged) || damaged.Path != d.file(flagName) {
			t.Fatalf("%s: %+v, %v", name, f, err)
		}
		if damaged = d.Reject(damaged); damaged.MovedTo == "" {
			t.Errorf("%s: %v", name, damaged)
		}
		if f, err := d.LookFlag(); f != nil || err != nil {
			t.Errorf("%s, again: %+v, %v", name, f, err)
		}
	}
}

func TestKill(t *testing.T) {
	d := open(t, t.TempDir())
	if k, err := d.Kill(); k != nil || err != nil || d.Killed() {
		t.Errorf("none: %+v, %v, %v", k, err, d.Killed())
	}
	want := Kill{At: testHour.Add(time.Minute), Hour: testHour}
	if err := d.SetKill(want); err != nil {
		t.Fatal(err)
	}
	if k, err := d.Kill(); err != nil || *k != want || !d.Killed() {
		t.Errorf("got %+v, %v, %v", k, err, d.Killed())
	}
	for _, content := range []string{"", "stop!", "{}"} { // by a person's hand
		if err := os.WriteFile(d.file("kill"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := d.Kill(); err != nil || k == nil || k.At.IsZero() || !k.Hour.IsZero() || !d.Killed() {
			t.Errorf("%q: %+v, %v, %v", content, k, err, d.Killed())
		}
	}
	for range 2 {
		if err := d.ClearKill(); err != nil {
			t.Error(err)
		}
	}
	if d.Killed() {
		t.Error("cleared, and still up")
	}
	if d.Path = d.file("id"); !d.Killed() { // a directory that cannot be looked into
		t.Error("a flag that cannot be looked at does not kill")
	}
}

func TestMemory(t *testing.T) {
	d := open(t, t.TempDir())
	check := func(minute int, seq int64) {
		t.Helper()
		d := open(t, d.Path)
		if m, err := d.StartMinute(); m != minute || err != nil {
			t.Errorf("start minute %d, %v; want %d", m, err, minute)
		}
		if s, err := d.HighestSeq(); s != seq || err != nil {
			t.Errorf("seq %d, %v; want %d", s, err, seq)
		}
	}
	keep := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	check(-1, 0)
	keep(d.KeepHighestSeq(7))
	check(-1, 7)
	keep(d.KeepStartMinute(0))
	check(0, 7)
	keep(d.KeepHighestSeq(3)) // by a process that is behind another
	check(0, 7)
	for _, minute := range []int{-1, 60} {
		if d.KeepStartMinute(minute) == nil {
			t.Errorf("start minute %d is kept", minute)
		}
	}

	before, _ := os.Stat(d.file("memory.json"))
	keep(d.KeepHighestSeq(7))
	keep(d.KeepStartMinute(0))
	if after, err := os.Stat(d.file("memory.json")); err != nil || !os.SameFile(before, after) {
		t.Errorf("written though nothing changed (%v)", err)
	}

	for _, content := range []string{"", "{", `{"start_minute":77,"highest_seq":-4}`, `{"highest_seq":"x"}`, `{"highest_seq":9223372036854775807}`} {
		if err := os.WriteFile(d.file("memory.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		check(-1, 0)
	}
	keep(d.KeepHighestSeq(9))
	check(-1, 9)
}

// TestMemoryOfTwo: two processes that keep different values lose neither.
func TestMemoryOfTwo(t *testing.T) {
	d := open(t, t.TempDir())
	done := make(chan error)
	go func() {
		var err error
		for i := range 30 {
			err = errors.Join(err, d.KeepHighestSeq(int64(i+1)))
		}
		done <- err
	}()
	for i := range 30 {
		if err := d.KeepStartMinute(i); err != nil {
			t.Error(err)
		}
		if m, err := d.StartMinute(); m != i || err != nil {
			t.Fatalf("start minute %d, %v; want %d", m, err, i)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s, err := d.HighestSeq(); s != 30 || err != nil {
		t.Errorf("seq %d, %v", s, err)
	}
}
