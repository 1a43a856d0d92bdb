package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What `run --dry-run` says would be fetched is what the run fetches, also after the clock was wrong, and where documents exclude hours.
func TestTheDryRunForetellsTheRun(t *testing.T) {
	t.Parallel()
	const due = "next_fetch_at = '2026-11-30T01:00:00Z', last_attempt_at = '2026-11-30T00:00:00Z'"
	hour := func(offset int) string {
		return fmt.Sprintf(`, schedule = '{"skip_hours":[%d]}'`, runAt(1).UTC().Add(time.Duration(offset)*time.Hour).Hour())
	}
	const nextYear = "next_fetch_at = '2027-11-30T11:30:00Z', last_attempt_at = '2027-11-30T10:30:00Z', fetched_hour = '2027-11-30T10:30:00Z'"
	for name, set := range map[string]string{
		"due":                            due,
		"not due":                        "next_fetch_at = '2026-12-02T01:00:00Z'",
		"the clock was a year ahead":     nextYear,
		"and this hour is excluded":      nextYear + hour(0),
		"and a server asks for quiet":    nextYear + ", retry_after_until = '2027-11-30T11:30:00Z'",
		"and it is stopped":              nextYear + ", status = 'stopped', stopped_reason = 'by hand'",
		"due and this hour is excluded":  due + hour(0),
		"due and another is excluded":    due + hour(2),
		"new though it excludes an hour": "next_fetch_at = NULL" + hour(0),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.add("News", 2)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			w.change("UPDATE feeds SET " + set)
			s.cut()
			var plan []planned
			if err := json.Unmarshal([]byte(w.run(runAt(1), "run", "--dry-run", "--json").want(0).stdout), &plan); err != nil || len(plan) != 1 {
				t.Fatalf("%v, %v", plan, err)
			}
			w.run(runAt(1), "run").want(0)
			if fetched := len(s.cut()) == 1; fetched != plan[0].Fetch {
				t.Errorf("fetched %v, said %v: %s", fetched, plan[0].Fetch, plan[0].Reason)
			}
		})
	}
}

// A flag that cannot be read is told by the dry run as by the run: it passed over that in silence, and foretold another run.
func TestTheDryRunTellsOfAFlagThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, healthySite(t, 2))
	w.subscribe()
	w.silent(runAt(0), "run")
	flag := filepath.Join(w.dir, "run.json")
	for _, create := range []func() error{
		func() error { return os.Mkdir(flag, 0o700) },
		func() error { return os.WriteFile(flag, []byte("?"), 0o600) },
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"run", "--dry-run"}, {"status"}, {"run"}} { // which sets it aside
			if e := w.run(halfAt(0), command...).want(0); strings.Count(e.stderr, "\n") != 1 || !strings.Contains(e.stderr, flag) {
				t.Errorf("want one line about the flag of %s", e)
			}
		}
		w.silent(halfAt(0), "half-check")
	}
}
