package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestReadOnly: a read-only file system is read, and errors of writing name the path once and the cause; the remedy was said here and
// by cmd.
func TestReadOnly(t *testing.T) {
	mount := tmpfs(t, "size=1m")
	d := open(t, filepath.Join(mount, "known"))
	snapshot(t, d, header(d, 1), lines(2))
	if err := syscall.Mount("", mount, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if again := open(t, d.Path); again.ID != d.ID || len(list(t, d)) != 1 {
		t.Error("a read-only directory is not read")
	}
	if h, err := d.Holder(); h != nil || err != nil {
		t.Errorf("holder in a read-only directory: %+v, %v", h, err)
	}
	for name, err := range map[string]error{
		"new":   func() error { _, err := Open(filepath.Join(mount, "new")); return err }(),
		"lock":  func() error { _, err := d.Lock(Holder{}); return err }(),
		"flag":  d.SetFlag(Flag{Hour: testHour}),
		"part":  func() error { _, err := d.Part(header(d, 2), nil); return err }(),
		"start": d.KeepStartMinute(3),
	} {
		if !errors.Is(err, syscall.EROFS) || strings.Count(err.Error(), mount) != 1 || strings.ContainsAny(err.Error(), ";\n") {
			t.Errorf("%s in a read-only directory: %v", name, err)
		}
	}
}

// asAnother calls f as a user who is not root, if this one is.
func asAnother(t *testing.T, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		f()
		return
	}
	runtime.LockOSThread() // for the thread's file system user only
	defer runtime.UnlockOSThread()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setfsuid(0)
	f()
}

// TestNotPermittedIsNotDamage: what may not be read was called damaged, and moved away with all that it held.
func TestNotPermittedIsNotDamage(t *testing.T) {
	d := open(t, t.TempDir())
	for category := range int64(2) {
		snapshot(t, d, header(d, category+1), lines(2))
	}
	info := list(t, d)[0]
	err := errors.Join(d.SetFlag(Flag{Hour: testHour}), os.Chmod(info.Path, 0), os.Chmod(d.file(flagName), 0),
		os.Chmod(filepath.Dir(d.Path), 0o755), os.Chmod(d.Path, 0o755), os.Chmod(d.snapshots(), 0o777)) // the files can be reached, and could be moved
	if err != nil {
		t.Fatal(err)
	}
	asAnother(t, func() {
		var damaged *DamagedError
		check := func(name string, err error, file string) {
			if !errors.Is(err, fs.ErrPermission) || errors.As(err, &damaged) || strings.Count(err.Error(), file) != 1 {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, bad, err := d.Look()
		if len(bad) > 0 {
			t.Errorf("list: bad %v", bad)
		}
		check("list", err, info.Path)
		_, err = read(d, info)
		check("read", err, info.Path)
		_, err = d.Part(header(d, 1), &info)
		check("extend", err, info.Path)
		_, err = d.LookFlag()
		check("flag", err, d.file(flagName))
	})
	if err := errors.Join(os.Chmod(info.Path, 0o600), os.Chmod(d.file(flagName), 0o600)); err != nil {
		t.Fatal(err)
	}
	if f, err := d.LookFlag(); f == nil || err != nil || len(list(t, d)) != 2 {
		t.Errorf("afterwards: flag %v, %v", f, err)
	}
}

// tmpfs mounts one for the test.
func tmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("no tmpfs can be mounted here (root only): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// TestDiskFull: the error says so, the part never becomes complete, and when there is room again its whole lines are there.
func TestDiskFull(t *testing.T) {
	mount := tmpfs(t, "size=1m")
	d := open(t, filepath.Join(mount, "data"))
	h := header(d, 7)
	p := write(t, d, h, nil)
	var failed error
	appended := 0
	for i := 0; failed == nil && i < 10000; i++ {
		if failed = p.Append(Line{Feed: int64(i), Data: []byte(`"` + strings.Repeat("x", 1000) + `"`)}); failed == nil {
			appended++
		}
	}
	if !errors.Is(failed, syscall.ENOSPC) || failed.Error() != "write part "+p.path+": no space left on device" {
		t.Fatalf("after %d lines: %v", appended, failed)
	}
	_, closed := p.Close(1, testHour)
	for name, err := range map[string]error{"append": p.Append(result(1)), "sync": p.Sync(), "close": closed, "leave": p.Leave()} {
		if !errors.Is(err, syscall.ENOSPC) && name != "leave" {
			t.Errorf("%s after disk full: %v", name, err)
		}
	}
	if again := open(t, d.Path); again.ID != d.ID {
		t.Error("opening a full disk made a new identity")
	}
	infos := list(t, d)
	if len(infos) != 1 || infos[0].Complete {
		t.Fatalf("%+v", infos)
	}
	got, err := read(d, infos[0])
	if err != nil || len(got) == 0 || len(got) > appended+1 {
		t.Errorf("%d lines of %d, %v", len(got), appended, err)
	}
	if _, err := d.Part(h, nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("resumed on a full disk: %v", err)
	}
	if err := d.SetFlag(Flag{Hour: testHour, Options: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("flag on a full disk: %v", err)
	}
	if f, err := d.LookFlag(); f != nil || err != nil {
		t.Errorf("flag after that: %+v, %v", f, err)
	}
	if err := syscall.Mount("", mount, "", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	if p, err = d.Part(h, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := p.Close(2, testHour); err != nil || c.Count != len(got) {
		t.Errorf("closed with room again: %+v, %v; want %d lines", c, err, len(got))
	}
	if files, _ := os.ReadDir(d.snapshots()); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}
