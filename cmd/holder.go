package cmd

import (
	"encoding/json"
	"fmt"

	"crawl/state"
)

// shownHolder is the process that holds the run lock, in JSON: what it has not said yet is null.
type shownHolder struct {
	Run      *int64  `json:"run"`
	Kind     *string `json:"kind"`
	PID      *int    `json:"pid"`
	Boot     *string `json:"boot"`
	Hour     *string `json:"hour"`
	Since    *string `json:"since"`
	Phase    *string `json:"phase"`
	Progress *string `json:"progress"`
	Done     *int    `json:"done"`
	Total    *int    `json:"total"`
}

func shownHolderOf(h *state.Holder) *shownHolder {
	if h == nil {
		return nil
	}
	s := &shownHolder{
		Kind: nullText(h.Kind), Boot: nullText(h.Boot), Hour: nullTime(h.Hour), Since: nullTime(h.Since),
		Phase: nullText(h.Phase), Progress: nullTime(h.Progress),
	}
	if h.Run != 0 {
		s.Run = &h.Run
	}
	if h.PID != 0 {
		s.PID = &h.PID
	}
	if h.Total != 0 {
		s.Done, s.Total = &h.Done, &h.Total
	}
	return s
}

// shownFlag is the flag of a run that has not finished, in JSON.
type shownFlag struct {
	Run     int64           `json:"run"`
	Hour    *string         `json:"hour"`
	Kind    string          `json:"kind"`
	Started *string         `json:"started"`
	Forced  *string         `json:"forced"` // the last forced start of this hour
	Options json.RawMessage `json:"options"`
}

func shownFlagOf(f *state.Flag) *shownFlag {
	if f == nil {
		return nil
	}
	return &shownFlag{f.Run, nullTime(f.Hour), f.Kind, nullTime(f.Started), nullTime(f.Forced), f.Options}
}

// shownKill is the kill flag in JSON.
type shownKill struct {
	At   *string `json:"at"`
	Hour *string `json:"hour"`
}

func shownKillOf(k *state.Kill) *shownKill {
	if k == nil {
		return nil
	}
	return &shownKill{nullTime(k.At), nullTime(k.Hour)}
}

// whoWorks names the process that holds the lock.
func whoWorks(h state.Holder) string {
	switch {
	case h.Kind == "":
		return "a process that has just begun"
	case h.Run != 0:
		return fmt.Sprintf("%s %d (process %d)", h.Kind, h.Run, h.PID)
	default:
		return fmt.Sprintf("%s (process %d)", h.Kind, h.PID)
	}
}
