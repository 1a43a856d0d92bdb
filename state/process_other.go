//go:build !linux

package state

import (
	"context"
	"fmt"
	"time"
)

// Boot returns the id of the current boot ("" where the system has none).
func Boot() string { return "" }

// processStart returns when a process began; "" for it is not known here.
func processStart(int) string { return "" }

// alive cannot be known here; the lock says enough.
func (h Holder) alive() bool { return h.PID > 0 }

// Terminate signals nothing here: without process start times and pidfds the pid might belong to a stranger.
func (h Holder) Terminate(context.Context, time.Duration) error {
	return fmt.Errorf("stop process %d: not possible on this system; end it by hand", h.PID)
}
