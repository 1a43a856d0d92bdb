package state

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// placeOf returns the inode of a directory and when that was made.
func placeOf(path string) (place, error) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return place{}, err
	}
	p := place{Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		p.Born = fmt.Sprintf("%d.%09d", st.Btime.Sec, st.Btime.Nsec)
	}
	return p, nil
}
