package crawl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Executable is the absolute path of this program: the one by which it was called, for a link in that may lead to the next version
// tomorrow, or where that leads elsewhere the one of its file. The error is of the system.
func Executable() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own path: %w", err)
	}
	path := called()
	there, err := os.Stat(path)
	if err != nil {
		return self, nil
	}
	if here, err := os.Stat(self); err != nil || !os.SameFile(here, there) {
		return self, nil
	}
	return path, nil
}

// called is the absolute path by which this program was called, "" if there is none.
func called() string {
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}
