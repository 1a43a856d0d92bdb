package state

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// HeldError says who holds the lock. Holder is zero when the file could not be read (the holder has just begun).
type HeldError struct{ Holder Holder }

// Error names the holder.
func (e *HeldError) Error() string {
	h := e.Holder
	if h.PID == 0 {
		return "another process has just taken the lock"
	}
	return fmt.Sprintf("another process works here: %s %d, pid %d, since %s, %s, %d of %d done",
		h.Kind, h.Run, h.PID, h.Since.UTC().Format(time.RFC3339), h.Phase, h.Done, h.Total)
}

// ErrLockLost: the locked file was removed or replaced, and another process can hold the lock that now has its name. Whoever works
// under such a lock must end.
var ErrLockLost = errors.New("the lock file was removed or replaced while it was held")

// Lock is the held run lock. Its process fields (PID, Started, Boot) are filled in by Lock itself.
//
// It is an exclusive flock on the file lock, which the kernel drops when the process dies; so there is no stale lock. The
// file's content only says who that is.
type Lock struct {
	flock *flock.Flock
	self  Holder // this process

	mu   sync.Mutex
	file *os.File // nil once unlocked
}

// lockTries bounds how often a lock is tried again that only a look at it (a shared lock, held for microseconds) stood in
// the way of: some 2 s in all.
const lockTries = 2000

// Lock takes the run lock at once or returns *HeldError. It also sweeps old temporary files.
//
// To look who holds the lock (held) a process takes a shared lock for a moment, and a lock that is tried just then fails.
// So after a failure it is looked at: if nobody holds it exclusively, it was only a look, and is tried again.
func (d *Dir) Lock(h Holder) (*Lock, error) {
	path := d.file("lock")
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	for range lockTries {
		makeFile(path)
		ok, err := lock.TryLock()
		if err == nil && ok {
			ok, err = isAt(lock, path)
		}
		if err != nil {
			lock.Unlock()
			return nil, explain("take the lock", path, err)
		}
		if ok {
			return d.locked(lock, h)
		}
		lock.Unlock() // not ours, or of a file that was removed or replaced meanwhile
		who, err := d.Holder()
		if err != nil {
			return nil, err
		}
		if who != nil {
			return nil, &HeldError{Holder: *who}
		}
		time.Sleep(time.Duration(50+rand.IntN(1950)) * time.Microsecond)
	}
	return nil, &HeldError{}
}

// locked makes a Lock of a flock that was taken.
func (d *Dir) locked(lock *flock.Flock, h Holder) (*Lock, error) {
	file, err := os.OpenFile(lock.Path(), os.O_RDWR, 0)
	if err != nil {
		lock.Unlock()
		return nil, explain("open the lock", lock.Path(), err)
	}
	pid := os.Getpid()
	l := &Lock{flock: lock, file: file, self: Holder{PID: pid, Started: processStart(pid), Boot: Boot()}}
	if err := l.Note(h); err != nil {
		file.Close()
		lock.Unlock()
		return nil, err
	}
	d.sweep()
	return l, nil
}

// Note rewrites what the lock file says. Safe for concurrent use; after Unlock it does nothing. The error is ErrLockLost if the
// lock protects nothing any more; any other says no more than that nothing could be written.
//
// It is rewritten in place, for the lock is on the file and not on its name. Readers know torn content by its checksum.
func (l *Lock) Note(h Holder) error {
	h.PID, h.Started, h.Boot = l.self.PID, l.self.Started, l.self.Boot
	data, err := sealJSON(h)
	if err != nil {
		return fmt.Errorf("encode lock: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	if held, err := isAt(l.flock, l.flock.Path()); err != nil {
		return explain("look at the lock", l.flock.Path(), err)
	} else if !held {
		return fmt.Errorf("%s: %w", l.flock.Path(), ErrLockLost)
	}
	if _, err := l.file.WriteAt(data, 0); err != nil {
		return explain("write the lock", l.file.Name(), err)
	}
	if err := l.file.Truncate(int64(len(data))); err != nil {
		return explain("write the lock", l.file.Name(), err)
	}
	return nil
}

// Unlock empties the file and lets go. Unlocking twice is harmless.
func (l *Lock) Unlock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	emptied := l.file.Truncate(0)
	l.file.Close()
	l.file = nil
	if err := l.flock.Unlock(); err != nil {
		return fmt.Errorf("let go of the lock %s: %w", l.flock.Path(), err)
	}
	if emptied != nil {
		return explain("empty the lock", l.flock.Path(), emptied)
	}
	return nil
}

// isAt says whether the locked file still is the one that has the name.
func isAt(lock *flock.Flock, path string) (bool, error) {
	named, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	locked, err := lock.Stat()
	if err != nil {
		return false, err
	}
	return os.SameFile(locked, named), nil
}
