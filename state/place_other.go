//go:build !linux

package state

import (
	"os"
	"syscall"
)

// placeOf returns the inode of a directory.
func placeOf(path string) (place, error) {
	info, err := os.Stat(path)
	if err != nil {
		return place{}, err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return place{Inode: uint64(st.Ino)}, nil
	}
	return place{}, nil
}
