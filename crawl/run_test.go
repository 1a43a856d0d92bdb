package crawl

import (
	"context"
	"fmt"
	"testing"
	"time"

	"crawl/state"
	"crawl/store"
)

// A run whose wait for another program's lock was ended by a person or a signal was stopped, and its row says so: it is no error.
func TestAWaitForALockThatIsEnded(t *testing.T) {
	for _, bySignal := range []bool{true, false} {
		ctx, signal := context.WithCancel(t.Context())
		defer signal()
		s := testSession(t)
		err := s.record(ctx, func(context.Context) error {
			if bySignal {
				signal()
			} else if err := s.dir.SetKill(state.Kill{At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			return fmt.Errorf("merge: %w", store.ErrBusy)
		})
		if err != nil {
			t.Fatal(err)
		}
		runs, err := s.store.RunsOf(t.Context(), s.dir.ID, s.hour)
		if err != nil || len(runs) != 1 || runs[0].Outcome != Killed || runs[0].Reason != s.sum.Reason {
			t.Errorf("by signal %v: %+v, %v", bySignal, runs, err)
		}
	}
}
