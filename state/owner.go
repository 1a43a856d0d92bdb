package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"crawl/state/files"
)

// makeFile makes an empty file (0600) where none is. Why it could not is for whoever opens it to find out.
func makeFile(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o600)
	if err != nil {
		return
	}
	files.Give(file)
	file.Close()
}

// makeDir makes a directory (0700) where none is, durably.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0); err == nil {
		files.Give(dir)
		dir.Close()
	}
	return files.SyncDir(filepath.Dir(path))
}
