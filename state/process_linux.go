package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Boot returns the id of the current boot ("" where the system has none).
func Boot() string { return boot() }

var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// processStart returns when a process began, in clock ticks since boot: field 22 of /proc/PID/stat (proc_pid_stat(5)).
// "" when there is none, or only its exit status is left (a zombie).
func processStart(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, and may hold anything; the third is the state.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return ""
	}
	return string(fields[19])
}

// alive says whether the very process that h names is running.
func (h Holder) alive() bool {
	return h.PID > 0 && h.Started != "" && h.Boot != "" && h.Boot == Boot() && h.Started == processStart(h.PID)
}

// Intervals of Terminate: how long a killed process may take to be gone, and how often ctx is looked at.
const (
	killWait = 10 * time.Second
	pollStep = 50 * time.Millisecond
)

// Terminate sends SIGTERM to exactly the process that h names (same pid, start time and boot, through a pidfd), waits up
// to wait for its end, then SIGKILL. ErrStranger when there is no such process: nothing was signalled. ctx ends the wait.
func (h Holder) Terminate(ctx context.Context, wait time.Duration) error {
	if h.PID <= 0 || h.PID == os.Getpid() {
		return ErrStranger
	}
	fd, err := unix.PidfdOpen(h.PID, 0)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return ErrStranger // the latter two for a thread of another process
	case err != nil:
		return fmt.Errorf("open process %d: %w", h.PID, err)
	}
	defer unix.Close(fd)
	if !h.alive() { // looked at while the pidfd is open: if it is the right one now, the pidfd is of no other
		return ErrStranger
	}
	for _, try := range []struct {
		signal unix.Signal
		wait   time.Duration
	}{{unix.SIGTERM, wait}, {unix.SIGKILL, killWait}} {
		if err := unix.PidfdSendSignal(fd, try.signal, nil, 0); errors.Is(err, unix.ESRCH) {
			return nil // ended by itself
		} else if err != nil {
			return fmt.Errorf("signal process %d: %w", h.PID, err)
		}
		ended, err := waitEnd(ctx, fd, try.wait)
		if err != nil {
			return fmt.Errorf("wait for the end of process %d: %w", h.PID, err)
		}
		if ended {
			return nil
		}
	}
	return fmt.Errorf("process %d does not end, though it was killed", h.PID)
}

// waitEnd waits for the end of the process behind a pidfd, which then can be read.
func waitEnd(ctx context.Context, fd int, wait time.Duration) (bool, error) {
	for deadline := time.Now().Add(wait); ; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		left := max(0, min(time.Until(deadline), pollStep))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if n > 0 {
			return true, nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false, err
		}
		if !time.Now().Before(deadline) {
			return false, nil
		}
	}
}
