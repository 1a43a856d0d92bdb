package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Holder is who holds the run lock: what that process wrote into the lock file.
type Holder struct {
	Run      int64     `json:"run"`
	Kind     string    `json:"kind"` // run, half-check, prune, migration
	PID      int       `json:"pid"`
	Started  string    `json:"started"` // process start, in the kernel's own terms (clock ticks since boot)
	Boot     string    `json:"boot"`    // boot id
	Hour     time.Time `json:"hour"`
	Since    time.Time `json:"since"`
	Phase    string    `json:"phase"`
	Progress time.Time `json:"progress"` // when the last result, merge or step came
	Done     int       `json:"done"`
	Total    int       `json:"total"`
}

// A holder's note is read again, for a tenth of a second in all, while it is torn, empty or names a process that is
// gone: then the holder has just begun and is about to write its own.
const (
	noteTries = 25
	noteWait  = 4 * time.Millisecond
)

// Holder returns who holds the lock, nil when nobody does, and a zero Holder when somebody does who has not said who.
// It never blocks and never takes the lock for longer than the test; a Lock tried at that moment is not disturbed.
func (d *Dir) Holder() (*Holder, error) {
	var last Holder
	for range noteTries {
		held, err := d.held()
		if err != nil || !held {
			return nil, err
		}
		h, err := d.note()
		if err != nil {
			return nil, err
		}
		if h != nil && h.alive() {
			return h, nil
		}
		last = Holder{}
		if h != nil {
			last = *h // perhaps alive all the same, where we cannot see it: in another container
		}
		time.Sleep(noteWait)
	}
	return &last, nil
}

// held says whether a process holds the lock, by trying a shared one: many may look at once, and only an exclusive one
// is in the way.
func (d *Dir) held() (bool, error) {
	path := d.file("lock")
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, explain("look at the lock", path, err)
	}
	lock.Unlock()
	return !free, nil
}

// note reads the lock file; nil while it is empty or torn.
func (d *Dir) note() (*Holder, error) {
	data, err := os.ReadFile(d.file("lock"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("read the lock", d.file("lock"), err)
	}
	var h Holder
	if !unsealJSON(data, &h) {
		return nil, nil
	}
	return &h, nil
}

// unsealJSON decodes a line of sealJSON, if it is whole and its checksum is right.
func unsealJSON(line []byte, v any) bool {
	if n := len(line); n == 0 || line[n-1] != '\n' {
		return false
	}
	_, ok := unseal(line[:len(line)-1])
	return ok && json.Unmarshal(line, v) == nil
}
