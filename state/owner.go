package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// give makes what root has just created in another user's data directory that user's, who could not go on with it else. As well as it
// can: where it cannot, all is as before. By its descriptor, for the other user may put a link in its place meanwhile.
func give(file *os.File, dataDir string) {
	if os.Geteuid() != 0 {
		return
	}
	info, err := os.Stat(dataDir)
	if err != nil {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
	}
}

// makeFile makes an empty file (0600) where none is. Why it could not is for whoever opens it to find out.
func (d *Dir) makeFile(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o600)
	if err != nil {
		return
	}
	give(file, d.Path)
	file.Close()
}

// makeDir makes a directory (0700) where none is, durably.
func (d *Dir) makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0); err == nil {
		give(dir, d.Path)
		dir.Close()
	}
	return syncDir(filepath.Dir(path))
}
