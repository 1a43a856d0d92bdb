package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"crawl/state"
)

// keptMinute is the start minute in memory.json.
func (w *world) keptMinute() int {
	w.t.Helper()
	var memory struct {
		StartMinute int `json:"start_minute"`
	}
	data, err := os.ReadFile(filepath.Join(w.dir, "memory.json"))
	if err == nil {
		err = json.Unmarshal(data, &memory)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return memory.StartMinute
}

// A start minute that one run was given is that of every later command: by the default's they would work on another hour, which is to be
// done once more.
func TestTheKeptStartMinuteIsInForce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 3)
	s.add("Art", 3)
	w := newWorld(t, s)
	w.subscribe()
	at := func(minutes int) time.Time { return runAt(0).Add(time.Duration(minutes-30) * time.Minute) } // after 10:00
	hour := at(5).Truncate(time.Minute).UTC().Format(time.RFC3339)
	w.silent(at(5), "run", "--start-minute", "5")
	s.cut()
	w.nothingToDo(at(34), "run")
	w.nothingToDo(at(35), "half-check")
	for _, command := range []string{"run", "half-check"} {
		if e := w.run(at(40), command, "--json").want(0); !strings.Contains(e.stdout, hour) {
			t.Errorf("%s works on another hour than %s: %s", command, hour, e)
		}
	}
	late := s.add("News", 3)
	w.run(at(45), "add", late.url).want(0)
	if got := w.query("SELECT DISTINCT fetched_hour FROM feeds"); len(got) != 1 || got[0] != hour {
		t.Errorf("feeds were fetched in the hours %v, want %s", got, hour)
	}
	crontab := w.run(at(46), "crontab").want(0).stdout
	for _, entry := range []string{"5 * * * *  ", "35 * * * *  ", " --start-minute 5\n"} {
		if !strings.Contains(crontab, entry) {
			t.Errorf("no %q in the crontab:\n%s", entry, crontab)
		}
	}
	if got := w.keptMinute(); got != 5 {
		t.Errorf("start minute %d is kept, want 5", got)
	}

	// another one that is named is taken, the default's too, unless work is unfinished
	w.silent(at(105), "run", "--start-minute", "30")
	if got := w.keptMinute(); got != 30 {
		t.Errorf("start minute %d is kept, want 30", got)
	}
	if crontab := w.run(at(106), "crontab").want(0).stdout; strings.Contains(crontab, "--start-minute") {
		t.Errorf("the default is said in the crontab:\n%s", crontab)
	}
	w.with("CRAWL_TEST_KILL=flag-up").run(at(150), "run", "--force").wantKilled()
	if e := w.with("CRAWL_START_MINUTE=5").run(at(151), "run").want(2); !strings.Contains(e.stderr, "--start-minute 30") {
		t.Errorf("another start minute is taken though work is unfinished: %s", e)
	}
	w.run(at(151), "half-check").want(0)
}

// What begins something does so in the hour that is set, wherever the start minute is said. What speaks of what is under way speaks of the
// hour of the last run, which may have had a setting that is not to be seen where a person or a monitor asks: in a crontab, say.
func TestWhoseStartMinuteHolds(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return runAt(0).Add(time.Duration(minutes-30) * time.Minute) } // after 10:00
	for _, test := range []struct {
		source, env, file string
		minute            int
	}{
		{source: "data directory", minute: 5},
		{source: "variable", env: "CRAWL_START_MINUTE=20", minute: 20},
		{source: "file", file: "start-minute = 20\n", minute: 20},
	} {
		t.Run(test.source, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.add("News", 3)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(at(5), "run", "--start-minute", "5")
			if err := os.WriteFile(filepath.Join(w.dir, "crawl.toml"), []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			asked := w
			if test.env != "" {
				asked = w.with(test.env)
			}
			hour := at(test.minute).Truncate(time.Minute).UTC().Format(time.RFC3339)
			kept := at(5).Truncate(time.Minute).UTC().Format(time.RFC3339)
			plan := "its category is done this hour"
			if test.minute != 5 {
				plan = "not due before"
			}
			for _, command := range []struct {
				args string
				code int
				says string
			}{
				{"config", 0, fmt.Sprintf(`(?m)^start-minute +%d `, test.minute)},
				{"crontab", 0, fmt.Sprintf(`(?m)^%d \* \* \* \* .* run`, test.minute)},
				{"status", 0, "^hour +" + kept},
				{"status --json", 0, `"hour": "` + kept},
				{"status --check", 0, ""},
				{"run --dry-run", 0, plan},
				{"half-check --json", 0, `"hour": "` + hour},
				{"add " + s.add("Art", 3).url, 0, ""},
				{"kill", 0, ""},
				{"run --json", 0, `"hour": "` + hour},
			} {
				e := asked.run(at(25), strings.Fields(command.args)...)
				if e.code != command.code || !regexp.MustCompile(command.says).MatchString(e.stdout) {
					t.Errorf("want code %d and %q of %s", command.code, command.says, e)
				}
				if command.args == "kill" {
					if flag, err := os.ReadFile(filepath.Join(w.dir, "kill")); err != nil || !strings.Contains(string(flag), kept) {
						t.Errorf("the kill flag is not of the hour %s: %s %v", kept, flag, err)
					}
				}
				w.keepMinute(5)
			}
			same(t, "hours of feeds", []string{kept, hour}, w.query("SELECT fetched_hour FROM feeds"))
		})
	}
}

// keepMinute has the directory keep a start minute, as a run with it would.
func (w *world) keepMinute(minute int) {
	w.t.Helper()
	if err := (&state.Dir{Path: w.dir}).KeepStartMinute(minute); err != nil {
		w.t.Fatal(err)
	}
}
