package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawl/state"
)

// While a forced run works, nothing is said of it that is not known, its categories are not done, and a monitor is content. Once it has
// died, nobody takes it for alive.
func TestStatusOfAForcedRun(t *testing.T) {
	site := newSite(t)
	feed := site.add("News", 3)
	w := newWorld(t, site)
	w.subscribe()
	w.silent(runAt(0), "run")
	gate := make(chan struct{})
	site.edit(func() { feed.gate = gate })
	defer close(gate)
	later := runAt(0).Add(5 * time.Minute)
	p := w.start(later, "run", "--force")
	shown := ""
	await(t, "a run in the status", func() bool {
		shown = w.run(later, "status", "--json").want(0).stdout
		return strings.Contains(shown, `"running": {`) && strings.Contains(shown, `"flag": {`)
	})
	for _, never := range []string{`"run": 0`, `: ""`, `"started": "[0-9]+"`, `[0-9]\.[0-9]+Z"`, `"done": true`, `"complete": true`} {
		if found := regexp.MustCompile(never).FindString(shown); found != "" {
			t.Errorf("the status has %s: %s", found, shown)
		}
	}
	lines := func(text string) []string {
		return regexp.MustCompile(text).FindAllString(w.run(later, "status").stdout, -1)
	}
	if len(lines(`(?m)^News +under way `)) != 1 || len(lines(`(?m)^2 +run .* under way `)) != 1 {
		t.Errorf("neither category nor run is under way: %s", w.run(later, "status"))
	}
	w.silent(later, "status", "--check")

	p.signal(syscall.SIGKILL)
	p.wait().wantKilled()
	if len(lines(`(?m)^2 +run .* died, or could not record its end$`)) != 1 || len(lines(`under way`)) != 0 {
		t.Errorf("the dead run is shown as alive: %s", w.run(later, "status"))
	}
	if e := w.run(later, "status", "--check").want(1); !strings.Contains(e.stderr, "run 2 of ") {
		t.Errorf("%s", e)
	}
}

// A run that lives but cannot record its end, on a full disk or as here, has not died: it was said to have.
func TestStatusOfARunThatCannotRecordItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, healthySite(t, 2))
	w.subscribe()
	w.change("CREATE TRIGGER no_end BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no end'); END")
	if e := w.run(runAt(0), "run").want(1); !strings.Contains(e.stderr, "no end") {
		t.Fatalf("it does not say why: %s", e)
	}
	const why = "died, or could not record its end\n"
	if e := w.run(halfAt(0), "status", "--check").want(1); !strings.HasPrefix(e.stderr, "crawl: run 1 of "+hourOf(0)+" "+why) {
		t.Errorf("%s", e)
	}
	if e := w.run(halfAt(0), "status").want(0); strings.Count(e.stdout, why) != 2 || strings.Contains(e.stdout, " died ") {
		t.Errorf("%s", e)
	}
	if e := w.run(halfAt(0), "status", "--json").want(0); !strings.Contains(e.stdout, `"outcome": null`) || strings.Contains(e.stdout, "died") {
		t.Errorf("%s", e)
	}
}

// What hangs is no healthy run.
func TestJudgeOfAStalledRun(t *testing.T) {
	site := newSite(t)
	feed := site.add("News", 3)
	w := newWorld(t, site)
	w.subscribe()
	gate := make(chan struct{})
	site.edit(func() { feed.gate = gate })
	defer close(gate)
	w.start(runAt(0), "run")
	await(t, "a run in the status", func() bool { return strings.Contains(w.run(runAt(0), "status", "--json").stdout, `"running": {`) })
	if e := w.run(runAt(0).Add(20*time.Minute), "status", "--check").want(1); !strings.Contains(e.stderr, "has made no progress since") {
		t.Errorf("%s", e)
	}
}

// What is left is said with the outcome and the reason of what should have done it.
func TestWhatIsLeftHasAReason(t *testing.T) {
	const hour = "2026-11-30T10:30:00Z"
	at, _ := time.Parse(time.RFC3339, hour)
	flag := &state.Flag{Run: 7, Kind: "half-check", Hour: at}
	last := func(outcome, reason string) *statusRun {
		return &statusRun{Run: 7, Kind: "half-check", Hour: hour, Outcome: nullText(outcome), Reason: nullText(reason)}
	}
	hook := []failedStep{{"hook", hour, "exit status 3"}}
	open := "the hour that began at " + hour + " is not complete: "
	for _, test := range []struct {
		s    status
		want string
	}{
		{status{Complete: true}, ""},
		{status{holder: &state.Holder{}, flag: flag, last: last("", "")}, ""},
		{status{flag: flag}, "half-check 7 of " + hour + " has not finished"},
		{status{flag: flag, last: last("", "")}, "half-check 7 of " + hour + " died, or could not record its end"},
		{status{flag: flag, last: last("crashed", "")}, "half-check 7 of " + hour + ": crashed"},
		{status{flag: flag, last: last("outage", "no route")}, "half-check 7 of " + hour + ": outage: no route"},
		{status{flag: flag, last: last("unfinished", "the deadline")}, "half-check 7 of " + hour + ": unfinished: the deadline"},
		{status{flag: flag, last: last("done", "")}, "half-check 7 of " + hour + " has not finished"},
		{status{damaged: true}, "the flag of the last run cannot be read"},
		{status{}, open + "no run of it has begun"},
		{status{last: last("killed", "by hand")}, open + "half-check 7 of " + hour + ": killed: by hand"},
		{status{last: last("", "")}, open + "half-check 7 of " + hour + " died, or could not record its end"},
		{status{last: last("done", ""), Categories: toDo("A")}, open + "to do: A"},
		{status{last: last("done", ""), Categories: toDo("A", "B", "C", "D", "E")}, open + "to do: A, B, C, 2 more"},
		{status{last: last("done", ""), Steps: hook, hook: true}, "hook of " + hour + ": exit status 3"},
		{status{last: last("done", ""), Steps: hook},
			"hook of " + hour + ": exit status 3; no hook is set here, and without one the half-check does not repeat it"},
		{status{left: 1, last: last("done", "")}, open + "the half-check left 1 feed"},
		{status{left: 2, last: last("done", ""), Steps: hook, hook: true}, open + "the half-check left 2 feeds; hook of " + hour + ": exit status 3"},
		{status{left: 2, flag: flag, last: last("", "")}, open + "the half-check left 2 feeds; half-check 7 of " + hour + " died, or could not record its end"},
		{status{left: 2, holder: &state.Holder{}}, ""},
		{status{Complete: true, Steps: []failedStep{{"hook", "2026-11-30T09:30:00Z", "exit status 3"}}}, ""},
	} {
		test.s.Hour = hour
		if got := strings.Join(test.s.unfinished(), "; "); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func toDo(names ...string) (categories []statusCategory) {
	for _, name := range names {
		categories = append(categories, statusCategory{listedCategory: listedCategory{Name: name}})
	}
	return categories
}

// What comes or comes to life once the hour's run has begun is the half-check's business, whether its category is new or not; what was there
// before is the hour's.
func TestFeedsThatComeLateLeaveTheHourComplete(t *testing.T) {
	t.Parallel()
	site := newSite(t)
	for _, name := range []string{"News", "News", "News", "Quiet"} {
		site.add(name, 3)
	}
	w := newWorld(t, site)
	w.subscribe()
	news, moved, quiet := site.feeds[0], site.feeds[1], site.feeds[3]
	early, late := site.add("Early", 3), site.add("Late", 3)
	w.run(runAt(0).Add(-time.Hour), "add", "--no-fetch", "--category", "Early", early.url).want(0)
	w.run(runAt(0).Add(-time.Hour), "stop", quiet.url).want(0)
	at := runAt(0)
	check := func(code int, when string) {
		t.Helper()
		if e := w.run(at, "status", "--check"); e.code != code {
			t.Errorf("%s: %s", when, e)
		}
	}
	do := func(code int, args ...string) {
		t.Helper()
		at = at.Add(time.Minute)
		w.run(at, args...).want(0)
		check(code, "after crawl "+strings.Join(args, " "))
	}
	check(1, "before the run")
	do(1, "run", "--category", "News")
	do(1, "set", news.url, "--category", "Moved before the run")
	do(1, "run", "--feed", early.url)

	gate := make(chan struct{})
	site.edit(func() { news.gate = gate })
	site.cut()
	at = at.Add(time.Minute)
	run := w.start(at, "run")
	site.await(t, "the run's request", arrived(1))
	do(0, "set", news.url, "--category", "Moved while it is asked")
	close(gate)
	run.wait().want(0)
	check(0, "after the run")

	do(0, "set", moved.url, "--category", "Moved")
	do(0, "resume", quiet.url)
	do(0, "import", site.opml(late))
	do(0, "add", "--no-fetch", "--category", "News", site.add("News", 3).url)
	do(0, "add", "--category", "Fetched at once", site.add("Fetched", 3).url)
	do(0, "run", "--feed", moved.url)
	w.with("CRAWL_TEST_KILL=snapshot-after-rename").run(at, "run", "--category", "Late").wantKilled()
	check(1, "with a snapshot that is not merged")
	w.silent(halfAt(0), "half-check")
	if n := w.number("SELECT count(*) FROM feeds WHERE fetched_hour IS NULL"); n != 0 {
		t.Errorf("the half-check left %d of the late feeds", n)
	}

	at = runAt(1)
	w.silent(at, "run", "--category", "News")
	do(1, "set", news.url, "--category", "Moved again")
	w.silent(at, "run")
	check(0, "after the next run")
	w.forget("Moved again")
	check(1, "without the snapshot of a category")
	w.silent(halfAt(1), "half-check")
	check(0, "after the next half-check")
}

// forget removes the snapshot of a category.
func (w *world) forget(category string) {
	w.t.Helper()
	id := w.number("SELECT id FROM categories WHERE name = ?", category)
	if err := os.Remove(filepath.Join(w.dir, "snapshots", fmt.Sprintf("%d.jsonl", id))); err != nil {
		w.t.Fatal(err)
	}
}
