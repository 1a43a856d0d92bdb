package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"
)

const flagName = "run.json"

// Flag is run.json: a run of a whole hour began and has not finished.
type Flag struct {
	Run     int64           `json:"run"`
	Hour    time.Time       `json:"hour"`
	Kind    string          `json:"kind"`
	Started time.Time       `json:"started"`
	Forced  time.Time       `json:"forced,omitzero"` // the last forced start of this hour; zero: none
	Options json.RawMessage `json:"options,omitempty"`
}

// LookFlag returns the flag, nil when there is none, and changes nothing. The error is a *DamagedError for a file that is no flag, for the
// holder of the run lock to Reject.
func (d *Dir) LookFlag() (*Flag, error) {
	path := d.file(flagName)
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, &DamagedError{Path: path, Reason: "not a regular file"}
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("read flag", path, err)
	}
	var f Flag
	err = json.Unmarshal(data, &f)
	if err == nil && f.Hour.IsZero() {
		err = errors.New("no hour")
	}
	if err != nil {
		return nil, &DamagedError{Path: path, Reason: "not a flag: " + err.Error()}
	}
	return &f, nil
}

// SetFlag puts the flag up, or replaces it.
func (d *Dir) SetFlag(f Flag) error {
	if err := writeJSON(d.file(flagName), f); err != nil {
		return err
	}
	d.point("flag-up")
	return nil
}

// ClearFlag takes the flag down; it is no error if there is none.
func (d *Dir) ClearFlag() error {
	d.point("flag-before-down")
	if err := removeFile(d.file(flagName)); err != nil {
		return err
	}
	d.point("flag-after-down")
	return nil
}
