package crawl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Who is told that the half-check goes on at once is told so by the reason too.
func TestWhoGoesOn(t *testing.T) {
	for _, kind := range []string{kindRun, kindHalfCheck} {
		for _, why := range []error{errDeadline, errLeases, errOutage, errKilled, errSignal, nil} {
			for _, some := range []bool{false, true} {
				s := &session{kind: kind}
				s.options.Failed = some
				if err := s.judgeEnd(why); err != nil {
					t.Fatal(err)
				}
				if goesOn := strings.Contains(s.sum.Reason, "the half-check goes on"); s.sum.Resumable != goesOn {
					t.Errorf("%s of some feeds %v, %v: resumable %v, %q", kind, some, why, s.sum.Resumable, s.sum.Reason)
				}
			}
		}
	}
}

// A run that an error ended has it as its reason, on one short line on which joined errors are told apart, whether its work failed or
// what follows. The reason was missing, and then errors ran into one another.
func TestAnErrorIsTheReason(t *testing.T) {
	long := errors.Join(errors.New("merge:\x1b[2J no\tspace"), errors.New(strings.Repeat("ü", maxError)))
	for want, work := range map[string]func(*session) error{
		"merge:[2J no space; üü": func(*session) error { return long },
		"read memory ": func(s *session) error {
			memory := filepath.Join(s.dir.Path, "memory.json")
			return errors.Join(os.Remove(memory), os.Mkdir(memory, 0o700))
		},
	} {
		s := testSession(t)
		err := s.record(t.Context(), func(context.Context) error { return work(s) })
		if err == nil {
			t.Fatalf("%s: no error", want)
		}
		runs, err := s.store.RunsOf(t.Context(), s.dir.ID, s.hour)
		if err != nil || len(runs) != 1 || runs[0].Outcome != "error" || runs[0].FinishedAt.IsZero() {
			t.Fatalf("%+v, %v", runs, err)
		}
		if r := runs[0].Reason; !strings.HasPrefix(r, want) || len(r) > maxError || s.sum.Reason != r || s.sum.Outcome != runs[0].Outcome {
			t.Errorf("reason %q, want %q…; summary %q %q", r, want, s.sum.Outcome, s.sum.Reason)
		}
	}
}
