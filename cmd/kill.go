package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"crawl/state"
)

// killPoll is how often kill looks whether the process has ended.
const killPoll = 50 * time.Millisecond

type killOptions struct{ wait time.Duration }

func newKill(p program) *cobra.Command {
	var o killOptions
	c := &cobra.Command{
		Use:   "kill",
		Short: "stop the run, and stay stopped until the next one",
		Long: `kill sets the kill flag: the run stops, keeps what it has fetched, and the half-check of this hour stays away.
The next crawl run clears the flag. The exit code is 0 if the run stopped or there was none, 6 if it still runs.`,
		Args: takes(0, 0, ""),
		RunE: p.withAnySettings(func(ctx context.Context, a *app, _ []string) error { return runKill(ctx, a, o) }),
	}
	c.Flags().DurationVar(&o.wait, "wait", 30*time.Second, "wait `D` for the run to end; 0: do not wait")
	return c
}

// killed is what `kill --json` prints. Outcome is stopped, nothing (nothing was running) or running (it still does).
type killed struct {
	Outcome string       `json:"outcome"`
	Holder  *shownHolder `json:"holder"`
	Seconds float64      `json:"seconds"`
}

func runKill(ctx context.Context, a *app, o killOptions) error {
	if o.wait < 0 {
		return usagef("--wait: %s is less than 0", o.wait)
	}
	if _, err := os.Stat(a.dir); errors.Is(err, fs.ErrNotExist) {
		return a.tellKill(killed{Outcome: "nothing"}, "nothing was running: there is no data directory "+a.dir)
	}
	d, err := state.Open(a.dir)
	if err != nil {
		return err
	}
	d.Point = a.point
	minute, err := a.startMinute(d)
	if err != nil {
		return err
	}
	if err := d.SetKill(state.Kill{At: a.now().UTC().Truncate(time.Second), Hour: state.Hour(a.now(), minute)}); err != nil {
		return fmt.Errorf("set the kill flag: %w", err)
	}
	holder, err := d.Holder()
	if err != nil {
		return err
	}
	if holder == nil {
		return a.tellKill(killed{Outcome: "nothing"}, "nothing was running; the half-check of this hour will stay away too")
	}
	began := time.Now()
	left, err := waitForEnd(ctx, d, *holder, o.wait)
	if err != nil {
		return err
	}
	took := time.Since(began)
	k := killed{Outcome: "stopped", Holder: shownHolderOf(holder), Seconds: float64(took.Milliseconds()) / 1000}
	if !left {
		return a.tellKill(k, fmt.Sprintf("stopped: %s ended after %.1f s", whoWorks(*holder), took.Seconds()))
	}
	k.Outcome = "running"
	if err := a.tellKill(k, ""); err != nil {
		return err
	}
	return &hintedError{&outcomeError{k.Outcome, whoWorks(*holder) + " is still running"},
		"the flag stays set: it stops when what it does allows; a longer --wait, or kill -TERM of its process, is next"}
}

// waitForEnd waits until the holder has let go, at most so long, and says whether it still runs.
func waitForEnd(ctx context.Context, d *state.Dir, h state.Holder, wait time.Duration) (runs bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		now, err := d.Holder()
		if err != nil || now == nil || h.PID != 0 && now.PID != 0 && now.PID != h.PID {
			return false, err
		}
		select {
		case <-ctx.Done():
			if ctx.Err() == context.Canceled {
				return true, ctx.Err()
			}
			return true, nil
		case <-time.After(killPoll):
		}
	}
}

func (a *app) tellKill(k killed, text string) error {
	if a.json {
		return a.printJSON(k)
	}
	if text == "" || a.quiet {
		return nil
	}
	return a.tell("%s", text)
}
