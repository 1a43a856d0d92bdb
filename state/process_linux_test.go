package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// holding starts a child that holds the lock in the given way.
func holding(t *testing.T, role string) (*started, Holder) {
	t.Helper()
	d := open(t, t.TempDir())
	c := start(t, d.Path, role)
	c.says(t)
	h, err := d.Holder()
	if err != nil || h == nil || h.PID != c.Process.Pid {
		t.Fatalf("holder %+v, %v", h, err)
	}
	return c, *h
}

func TestTerminate(t *testing.T) {
	c, h := holding(t, "polite")
	if err := h.Terminate(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	// It is a zombie now, which is nobody: a second call finds a stranger and does not wait.
	if err := h.Terminate(t.Context(), time.Minute); !errors.Is(err, ErrStranger) {
		t.Errorf("terminate a zombie: %v", err)
	}
	c.Wait()
	if code := c.ProcessState.ExitCode(); code != 7 {
		t.Errorf("it did not end by SIGTERM: %v", c.ProcessState)
	}
	if err := h.Terminate(t.Context(), time.Minute); !errors.Is(err, ErrStranger) {
		t.Errorf("terminate who is gone: %v", err)
	}
}

func TestTerminateWhoIgnoresIt(t *testing.T) {
	c, h := holding(t, "stubborn")
	if err := h.Terminate(t.Context(), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v", c.ProcessState)
	}
}

func TestTerminateWhoIsPaused(t *testing.T) {
	c, h := holding(t, "polite")
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := h.Terminate(t.Context(), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if status := c.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v", c.ProcessState)
	}
}

// TestTerminateNoStranger: a pid that was given to another program, and every other doubt, means no signal.
func TestTerminateNoStranger(t *testing.T) {
	c, h := holding(t, "lock") // which a SIGTERM would end
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", h.PID))
	if err != nil {
		t.Fatal(err)
	}
	thread, err := strconv.Atoi(tasks[len(tasks)-1].Name())
	if err != nil || thread == h.PID {
		t.Fatalf("the child has no thread: %v, %v", tasks, err)
	}
	for name, change := range map[string]func(*Holder){
		"another start":   func(h *Holder) { h.Started += "1" },
		"another boot":    func(h *Holder) { h.Boot = "8f6a8a5e-0000-4000-8000-000000000000" },
		"unknown start":   func(h *Holder) { h.Started = "" },
		"unknown boot":    func(h *Holder) { h.Boot = "" },
		"no process":      func(h *Holder) { h.PID = 0 },
		"a process group": func(h *Holder) { h.PID = -h.PID },
		"ourselves":       func(h *Holder) { h.PID, h.Started = os.Getpid(), processStart(os.Getpid()) },
		"a thread":        func(h *Holder) { h.PID, h.Started = thread, processStart(thread) },
		"a free pid":      func(h *Holder) { h.PID = 1 << 30 },
	} {
		stranger := h
		change(&stranger)
		if err := stranger.Terminate(t.Context(), 0); !errors.Is(err, ErrStranger) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.end(t) // fails unless it lived to end by itself
}

func TestTerminateUntilCancelled(t *testing.T) {
	c, h := holding(t, "stubborn")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.Terminate(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	c.end(t)
}
