package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// memory is the content of memory.json: small values that outlive a run. A missing or damaged file knows nothing.
type memory struct {
	StartMinute *int  `json:"start_minute,omitempty"`
	HighestSeq  int64 `json:"highest_seq"`
}

// StartMinute returns the start minute kept in the directory, -1 when none is.
func (d *Dir) StartMinute() (int, error) {
	m, err := d.remember()
	if err != nil || m.StartMinute == nil {
		return -1, err
	}
	return *m.StartMinute, nil
}

// KeepStartMinute stores the start minute (0–59). Nothing is written if it is the kept one.
func (d *Dir) KeepStartMinute(minute int) error {
	if minute < 0 || minute > 59 {
		return fmt.Errorf("start minute %d is not in 0–59", minute)
	}
	return d.keep(func(m *memory) bool {
		same := m.StartMinute != nil && *m.StartMinute == minute
		m.StartMinute = &minute
		return same
	})
}

// HighestSeq is the highest changes.seq this directory has seen (0: none).
func (d *Dir) HighestSeq() (int64, error) {
	m, err := d.remember()
	return m.HighestSeq, err
}

// KeepHighestSeq stores what HighestSeq returns, if it is higher than the kept one.
func (d *Dir) KeepHighestSeq(seq int64) error {
	return d.keep(func(m *memory) bool {
		same := m.HighestSeq >= seq
		m.HighestSeq = max(m.HighestSeq, seq)
		return same
	})
}

// keep applies a change, which says whether it changed nothing. The gate keeps two processes from losing each other's.
func (d *Dir) keep(change func(*memory) (same bool)) error {
	m, err := d.remember()
	if err != nil || change(&m) {
		return err
	}
	open, err := d.gate()
	if err != nil {
		return err
	}
	defer open()
	if m, err = d.remember(); err != nil || change(&m) {
		return err
	}
	return writeJSON(d.file("memory.json"), m)
}

func (d *Dir) remember() (memory, error) {
	data, err := os.ReadFile(d.file("memory.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return memory{}, explain("read memory", d.file("memory.json"), err)
	}
	var m memory
	if err := json.Unmarshal(data, &m); err != nil {
		return memory{}, nil
	}
	if m.StartMinute != nil && (*m.StartMinute < 0 || *m.StartMinute > 59) {
		m.StartMinute = nil
	}
	if m.HighestSeq < 0 || m.HighestSeq > 1<<53 { // from which no database could go on
		m.HighestSeq = 0
	}
	return m, nil
}
