package state

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// gateWait bounds the wait for another process that is just writing id or memory.json.
const gateWait = 10 * time.Second

// identity is the content of the file id: who this directory is, and where it was when it became that.
type identity struct {
	ID string `json:"id"`
	place
}

// place is where a directory lies. What is empty is not known, and then not compared. The device is left out: its number
// may differ after every boot.
type place struct {
	Machine string `json:"machine,omitempty"` // hash of the machine id
	Inode   uint64 `json:"inode,omitempty"`
	Born    string `json:"born,omitempty"` // when the inode was made, as the file system tells: numbers are used again
}

func (p place) same(other place) bool {
	return (p.Machine == other.Machine || p.Machine == "" || other.Machine == "") &&
		(p.Inode == other.Inode || p.Inode == 0 || other.Inode == 0) &&
		(p.Born == other.Born || p.Born == "" || other.Born == "")
}

// identity reads the directory's identity, or makes one if there is none for this place.
func (d *Dir) identity() (string, error) {
	here, err := placeOf(d.Path)
	if err != nil {
		return "", explain("look at data directory", d.Path, err)
	}
	here.Machine = machine()
	id, err := d.readIdentity(here)
	if err != nil || id != "" {
		return id, err
	}
	open, err := d.gate()
	if err != nil {
		return "", err
	}
	defer open()
	if id, err = d.readIdentity(here); err != nil || id != "" { // another process was first
		return id, err
	}
	return d.newIdentity(here)
}

// readIdentity returns "" for a file that is missing, damaged, or of another place.
func (d *Dir) readIdentity(here place) (string, error) {
	data, err := os.ReadFile(d.file("id"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", explain("read identity of data directory", d.Path, err)
	}
	var is identity
	if json.Unmarshal(data, &is) != nil || !is.same(here) {
		return "", nil
	}
	return is.ID, nil
}

// newIdentity sets aside what belongs to a former identity, then writes a new one. The caller is in the gate.
func (d *Dir) newIdentity(here place) (string, error) {
	if held, err := d.held(); err != nil {
		return "", err
	} else if held {
		return "", fmt.Errorf("data directory %s belongs to another machine or place, and a process is at work in it; "+
			"choose another directory with --dir", d.Path)
	}
	stale, err := d.snapshotFiles()
	if err != nil {
		return "", err
	}
	for _, path := range append(stale, d.file(flagName)) {
		if _, err := d.aside(path); err != nil {
			return "", explain("set aside what belongs to another directory", path, err)
		}
	}
	if err := removeFile(d.file(sessionsName)); err != nil { // keys that another machine uses
		return "", err
	}
	is := identity{ID: strings.ToLower(rand.Text()), place: here}
	return is.ID, writeJSON(d.file("id"), is)
}

// machine returns a hash of this machine's id (machine-id(5) asks not to show the id itself), "" where it has none.
func machine() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if data, err := os.ReadFile(path); err == nil && len(bytes.TrimSpace(data)) > 0 {
			sum := sha256.Sum256(append([]byte("crawl "), bytes.TrimSpace(data)...))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}

// gate lets one process at a time decide on id and memory.json. It is a lock on the file id; who waited while that was
// replaced finds the new identity, and is done.
func (d *Dir) gate() (open func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), gateWait)
	defer cancel()
	makeFile(d.file("id"))
	lock := flock.New(d.file("id"))
	if ok, err := lock.TryLockContext(ctx, 2*time.Millisecond); !ok {
		doing := "lock"
		if errors.Is(err, context.DeadlineExceeded) {
			doing = "wait for another process"
		}
		return nil, explain(doing, lock.Path(), err)
	}
	return func() { lock.Unlock() }, nil
}
