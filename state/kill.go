package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

// Kill is the kill flag, set by a person.
type Kill struct {
	At   time.Time `json:"at"`
	Hour time.Time `json:"hour"`
}

// Kill returns nil when no kill flag is up. One that says nothing readable (made by touch, say) was set when its file
// was, for no known hour.
func (d *Dir) Kill() (*Kill, error) {
	info, err := os.Lstat(d.file("kill"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("look for the kill flag", d.file("kill"), err)
	}
	var k Kill
	data, err := os.ReadFile(d.file("kill"))
	if err != nil || json.Unmarshal(data, &k) != nil || k.At.IsZero() {
		return &Kill{At: info.ModTime().UTC()}, nil
	}
	return &k, nil
}

// Killed is the cheap form of Kill, for polling: one system call. A flag that cannot be looked at still kills.
func (d *Dir) Killed() bool {
	_, err := os.Lstat(d.file("kill"))
	return !errors.Is(err, fs.ErrNotExist)
}

// SetKill puts the kill flag up.
func (d *Dir) SetKill(k Kill) error { return writeJSON(d.file("kill"), k) }

// ClearKill takes the kill flag down; it is no error if there is none.
func (d *Dir) ClearKill() error { return removeFile(d.file("kill")) }
