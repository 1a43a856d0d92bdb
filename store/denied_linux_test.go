package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// denied is a way not to be allowed to write, and what is said then: parts of the line about the opening ("" if it succeeds) and
// about a writing.
type denied struct {
	name        string
	leave       []string // what a crash left beside the database
	deny        func(t *testing.T, path string)
	open, write string
}

func denials() []denied {
	both, alone := []string{"-wal", "-shm"}, []string{"-wal"}
	readOnly := func(t *testing.T, path string) {
		if err := syscall.Mount("", filepath.Dir(path), "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	full := func(t *testing.T, path string) {
		if err := os.WriteFile(path+".fill", make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	mode := func(dir, file fs.FileMode) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				os.Chmod(path+suffix, file)
			}
			os.Chmod(filepath.Dir(path), dir)
		}
	}
	return []denied{
		{"read-only", nil, readOnly, "", "crawl.db cannot be written: read-only file system"},
		{"read-only, crashed", both, readOnly, "", "crawl.db cannot be written: read-only file system"},
		{"read-only, crashed, no -shm", alone, readOnly, "crawl.db cannot be written: read-only file system", ""},
		{"full", nil, full, "", "disk is full"},
		{"full, crashed", both, full, "", "disk is full"},
		{"full, crashed, no -shm", alone, full, "disk is full", ""},
		{"another's directory", nil, mode(0o755, 0o666), "", "its directory cannot be written, and SQLite needs files beside it: permission denied"},
		{"another's directory, no -shm", alone, mode(0o755, 0o666), "its directory cannot be written, and SQLite needs files beside it: permission denied", ""},
		{"another's -shm", both, func(t *testing.T, path string) {
			mode(0o755, 0o666)(t, path)
			os.Chmod(path+"-shm", 0o644)
		}, "", "crawl.db-shm cannot be written: permission denied"},
		{"another's", nil, mode(0o755, 0o644), "", "crawl.db cannot be written: permission denied"},
		{"another's, crashed", both, mode(0o755, 0o644), "", "crawl.db cannot be written: permission denied"},
		{"another's, of whom it is secret", nil, mode(0o755, 0o600), "crawl.db cannot be read: permission denied", ""},
		{"another's, all of it", nil, mode(0o700, 0o600), "permission denied", ""},
	}
}

// Where nothing can be written the database is read all the same if that is safe, and an error says what cannot be written, once, and
// why. It said "unable to open database file: no such file or directory".
func TestNothingCanBeWritten(t *testing.T) {
	for _, test := range denials() {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(smallDisk(t), "crawl.db")
			leftBehind(t, path, test.leave...)
			test.deny(t, path)
			said := useAsAnother(t, path, strings.HasPrefix(test.name, "another"))
			wanted := map[string]string{"open": test.open}
			if test.open == "" {
				wanted = map[string]string{"read": "3 <nil>", "write": test.write}
			}
			for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
				about, text, _ := strings.Cut(line, ": ")
				want, asked := wanted[about]
				delete(wanted, about)
				if !asked || !strings.HasSuffix(text, want) {
					t.Errorf("said %q; want %q", line, want)
				}
				if about != "read" && strings.Count(text, filepath.Dir(path)) != 1 {
					t.Errorf("does not name the file once: %q", line)
				}
			}
			if len(wanted) > 0 {
				t.Errorf("said only %q", said)
			}
		})
	}
}

// smallDisk is a file system of 1 MiB, everybody's.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m,mode=777"); err != nil {
		t.Skipf("no tmpfs can be mounted here (root only): %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// leftBehind makes a database of three feeds at path, as it is after its last process has died if anything is to be left.
func leftBehind(t *testing.T, path string, suffixes ...string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "crawl.db")
	s := openStore(t, source, func(o *Options) { o.Migrate = true })
	addFeeds(t, s, 3, "c")
	if len(suffixes) == 0 {
		s.Close()
	}
	for _, suffix := range append(suffixes, "") {
		b, err := os.ReadFile(source + suffix)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path+suffix, string(b))
	}
	s.Close()
}

// useAsAnother says how another process fares with the database, of another user if that is asked for.
func useAsAnother(t *testing.T, path string, otherUser bool) string {
	t.Helper()
	cmd := childCommand(t, path, "use")
	if otherUser {
		if err := errors.Join(reachable(cmd.Path, path), os.Chmod(cmd.Path, 0o755)); err != nil { // whatever the umask was
			t.Skip("needs a user other than root, who can reach the test binary:", err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// A database that is read without locks changes: that is noticed, whether its writer is still there or has gone.
func TestFrozenDatabaseChanges(t *testing.T) {
	for _, gone := range []bool{false, true} {
		path := filepath.Join(smallDisk(t), "crawl.db")
		leftBehind(t, path)
		fill := path + ".fill"
		if err := os.WriteFile(fill, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		s := openStore(t, path)
		if feeds, err := s.Feeds(t.Context(), Filter{}); len(feeds) != 3 || err != nil {
			t.Fatalf("%d feeds, %v", len(feeds), err)
		}
		os.Remove(fill)
		time.Sleep(20 * time.Millisecond) // for the clock of the file system
		other := openStore(t, path)
		addFeeds(t, other, 1, "d")
		if gone {
			other.Close()
		}
		if _, err := s.Feeds(t.Context(), Filter{}); !errors.Is(err, ErrBusy) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("writer gone %v: %v", gone, err)
		}
		s.Close()
	}
}

// reachable opens the way to files for everybody.
func reachable(paths ...string) error {
	for _, p := range paths {
		for dir := filepath.Dir(p); dir != "/" && dir != "/tmp"; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o001 == 0 {
				if err := os.Chmod(dir, info.Mode().Perm()|0o055); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
