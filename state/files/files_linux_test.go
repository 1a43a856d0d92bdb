package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file system that cannot sync directories is no reason not to work there; one that is not there is.
func TestSyncDir(t *testing.T) {
	dir, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Fatalf("sync of /proc, for this test: %v", err)
	}
	for path, want := range map[string]error{"/proc": nil, t.TempDir(): nil, filepath.Join(t.TempDir(), "none"): fs.ErrNotExist} {
		if err := SyncDir(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// What decides is who has the directory that holds the file now, not the name by which it was made: that may lead elsewhere by then.
func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can give files away")
	}
	const nobody = 65534
	theirs, roots := t.TempDir(), t.TempDir()
	if err := os.Chown(theirs, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "moved"} {
		if err := os.Symlink(roots, filepath.Join(theirs, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]uint32{
		filepath.Join(theirs, "a"):          nobody,
		filepath.Join(theirs, "link", "b"):  0,
		filepath.Join(theirs, "moved", "c"): 0,
		filepath.Join(roots, "d"):           0,
	} {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if filepath.Base(path) == "c" { // another file of that name lies where its name leads to now
			moved := filepath.Join(theirs, "moved")
			if err := errors.Join(os.Remove(moved), os.Mkdir(moved, 0o700), os.Chown(moved, nobody, nobody), os.WriteFile(path, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		Give(file)
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != want {
			t.Errorf("%s belongs to %d, want %d", path, uid, want)
		}
	}
}
