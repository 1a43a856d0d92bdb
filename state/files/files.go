// Package files is what the rooms that write files do alike: what root makes is given to whom the directory belongs to, and names are
// made durable.
package files

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Give makes what root has just created the user's whose directory it lies in, who could not go on with it else: the directory that
// holds it, wherever its name led. As well as it can: where it cannot, all is as before. By descriptors, for the other user may put a
// link in its place or in the directory's meanwhile.
func Give(file *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	dir, err := os.OpenRoot(filepath.Dir(file.Name()))
	if err != nil {
		return
	}
	defer dir.Close()
	info, err := dir.Stat(".")
	if err != nil {
		return
	}
	made, err := file.Stat()
	if err != nil {
		return
	}
	if held, err := dir.Lstat(filepath.Base(file.Name())); err != nil || !os.SameFile(held, made) {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
	}
}

// SyncDir makes the names in a directory durable. Where directories cannot be synced it does what can be done: nothing.
func SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
