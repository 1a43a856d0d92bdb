package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawl/crawl"
)

// Killed between snapshot and merge, the half-check only merges.
func TestAWholeSnapshotNeedsNoRequest(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"snapshot-after-rename", "snapshot-after-mtime"} {
		s := newSite(t)
		for range 5 {
			s.add("News", 4)
		}
		undisturbed := newWorld(t, s)
		undisturbed.subscribe()
		undisturbed.silent(runAt(0), "run")
		s.cut()
		w := newWorld(t, s)
		w.subscribe()
		w.with("CRAWL_TEST_KILL="+point).run(runAt(0), "run").wantKilled()
		eachOnce(t, s.cut(), s.feeds)
		w.silent(halfAt(0), "half-check")
		if n := len(s.cut()); n != 0 {
			t.Fatalf("killed at %s, the half-check made %d requests", point, n)
		}
		same(t, "rows", undisturbed.content(), w.content())
		w.converged(halfAt(0).Add(time.Minute))
	}
}

// Deleting a category's snapshot reopens its hour, but only for feeds that are not done.
func TestADeletedSnapshotRequestsNothingThatIsDone(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.cut()
	snapshots, _ := filepath.Glob(filepath.Join(w.dir, "snapshots", "*.jsonl"))
	if len(snapshots) != 1 {
		t.Fatalf("snapshots: %v", snapshots)
	}
	os.Remove(snapshots[0])
	w.silent(halfAt(0), "half-check")
	if n := len(s.cut()); n != 0 {
		t.Fatalf("%d requests", n)
	}
	w.converged(halfAt(0).Add(time.Minute))
}

// hooked is a world whose hook notes each call in a file and then does what the shell text says.
func hooked(t *testing.T, s *site, then string) (w *world, calls func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hook")
	w = newWorld(t, s, fmt.Sprintf("CRAWL_HOOK=echo call >> %s; cat > /dev/null; %s", file, then))
	w.subscribe()
	return w, func() []string {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
}

func (w *world) steps() []string {
	w.t.Helper()
	return w.query("SELECT name, hour, finished_at FROM steps WHERE error IS NULL ORDER BY name")
}

// A step that fails is repeated by the half-check, and no other is; once it succeeded, never again in that hour.
func TestOnlyTheFailedStepIsRepeated(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 3)
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, calls := hooked(t, s, "test ! -e "+broken)
	e := w.run(runAt(0), "run")
	if e.stderr == "" || e.stdout != "" {
		t.Fatalf("a failed hook is not reported: %s", e)
	}
	w.storedOnce()
	after := w.steps()
	if len(after) != 1 || !strings.HasPrefix(after[0], "optimize | "+hourOf(0)) {
		t.Fatalf("steps after the run: %v", after)
	}
	s.cut()

	w.run(halfAt(0), "half-check")
	os.Remove(broken)
	w.silent(halfAt(0).Add(time.Minute), "half-check")
	steps := w.steps()
	if len(steps) != 2 || steps[1] != after[0] || !strings.HasPrefix(steps[0], "hook | "+hourOf(0)) {
		t.Fatalf("steps after the repair: %v; before: %v", steps, after)
	}
	w.converged(halfAt(0).Add(2 * time.Minute))
	w.nothingToDo(halfAt(0).Add(3*time.Minute), "run")
	if len(calls()) != 3 || len(s.cut()) != 0 {
		t.Fatalf("the hook was called %d times, not 3", len(calls()))
	}
}

// The same where the whole run dies within the step: the hook kills it.
func TestAStepInWhichTheRunDiedIsRepeated(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 3)
	alive := filepath.Join(t.TempDir(), "alive")
	w, calls := hooked(t, s, fmt.Sprintf("test -e %[1]s || { touch %[1]s; kill -9 $PPID; }", alive))
	w.run(runAt(0), "run").wantKilled()
	eachOnce(t, s.cut(), s.feeds)
	w.silent(halfAt(0), "half-check")
	if len(calls()) != 2 || len(s.cut()) != 0 {
		t.Fatalf("the hook was called %d times, not twice", len(calls()))
	}
	w.converged(halfAt(0).Add(time.Minute))
	w.nothingToDo(halfAt(0).Add(2*time.Minute), "run")
	if len(calls()) != 2 {
		t.Fatalf("the hook was called %d times, not twice", len(calls()))
	}
}

// A run whose lock is taken away while its hook works ends the hook and itself: it heard so only when the hook had ended. The half-check
// repeats it.
func TestALostLockEndsTheHook(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 3)
	lost := filepath.Join(t.TempDir(), "lost")
	w, calls := hooked(t, s, fmt.Sprintf("test -e %[1]s || { touch %[1]s; rm $CRAWL_DIR/lock; sleep 1000; }", lost))
	e := w.run(runAt(0), "run", "--hook-timeout", "1m").want(1)
	if !strings.HasPrefix(e.stderr, "crawl: stop, for another process may work beside this one: ") || strings.Count(e.stderr, "\n") != 1 {
		t.Fatalf("want one line about the lock of %s", e)
	}
	w.storedOnce()
	if steps := w.steps(); len(steps) != 0 {
		t.Fatalf("steps after the lock was lost: %v", steps)
	}
	s.cut()
	w.silent(halfAt(0), "half-check")
	if len(calls()) != 2 || len(s.cut()) != 0 {
		t.Fatalf("the hook was called %d times, not twice", len(calls()))
	}
	w.converged(halfAt(0).Add(time.Minute))
}

// The hook is called when there are changes above those it has handled, also by a forced run or a late import, and then only.
func TestTheHookFollowsTheChanges(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 3)
	w, calls := hooked(t, s, "true")
	want := func(n int) {
		t.Helper()
		if got := len(calls()); got != n {
			t.Fatalf("the hook was called %d times, not %d", got, n)
		}
	}
	w.silent(runAt(0), "run")
	want(1)
	w.silent(runAt(1), "run") // nothing changed
	want(1)
	s.edit(func() { s.feeds[1].publish() })
	w.silent(runAt(1).Add(10*time.Minute), "run", "--force")
	want(2)
	late := s.add("News", 2)
	w.subscribe(late)
	w.silent(runAt(1).Add(20*time.Minute), "run")
	want(3)
	w.converged(halfAt(1))
	want(3)
}

// A hook finds this database, wherever it is, by the variables that the README names, and the world as any program does: what writes into
// a pipe that nobody reads ends by a signal.
func TestWhatAHookFinds(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range crawl.HookVariables() {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("the README does not name %s", name)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := healthySite(t, 3)
	w := newWorld(t, s)
	out := t.TempDir()
	other := filepath.Join(out, "other.db")
	w.run(runAt(0), "import", s.opml(), "--db", other).want(0)
	w.silent(runAt(0), "run", "--db", other, "--hook", fmt.Sprintf(
		`cd / && %s items --jsonl > %[2]s/items && { yes; echo $? > %[2]s/code; } | head -n 1`, self, out))
	if got, want := len(lines(t, filepath.Join(out, "items"))), len(s.shown()); got != want {
		t.Errorf("the hook finds %d items, not %d", got, want)
	}
	same(t, "end of a writer without reader", []string{"141"}, lines(t, filepath.Join(out, "code")))
}

// A ranked category has one position for each item its feeds show and each hour, also after a kill and for an unchanged feed.
func TestPositionsAreOneRowAnItemAndHour(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 4 {
		s.add("Charts", 5)
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0).Add(-time.Minute), "category", "set", "Charts", "--ranked")
	check := func(hour int) {
		t.Helper()
		same(t, fmt.Sprintf("positions of hour %d", hour), s.ranks(), w.query(`
			SELECT f.url, i.title, p.position
			FROM positions p JOIN items i ON i.id = p.item_id JOIN feeds f ON f.id = i.feed_id WHERE p.hour = ?`, hourOf(hour)))
	}
	w.silent(runAt(0), "run")
	check(0)
	w.with("CRAWL_TEST_KILL=merge-after-commit").run(runAt(1), "run").wantKilled() // nothing changed: 304s
	w.silent(halfAt(1), "half-check")
	check(1)
	s.edit(func() {
		for _, f := range s.feeds {
			f.publish()
			f.items[1], f.items[3] = f.items[3], f.items[1]
		}
	})
	w.with("CRAWL_TEST_KILL=merge-before-commit").run(runAt(2), "run").wantKilled()
	w.with("CRAWL_TEST_KILL=merge-mid").run(halfAt(2), "half-check").wantKilled()
	w.silent(halfAt(2).Add(time.Minute), "half-check")
	check(2)
	s.edit(func() {
		s.feeds[0].items[0], s.feeds[0].items[2] = s.feeds[0].items[2], s.feeds[0].items[0]
		s.feeds[0].version++
	})
	w.silent(halfAt(2).Add(2*time.Minute), "run", "--force") // replaces the hour's positions
	check(2)
	w.converged(halfAt(2).Add(5 * time.Minute))
}

// ranks is every feed's items in the order of its document, from 1, in the form of the query above.
func (s *site) ranks() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, f := range s.feeds {
		for n, i := range f.items {
			list = append(list, fmt.Sprintf("%s | %s | %d", f.url, i.title, n+1))
		}
	}
	return list
}

// Import, run, import more into the same category, run again in the same hour: the new feeds are there, the old are not asked again.
func TestFeedsImportedLaterInTheHourAreFetchedByTheNextRun(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 6)
	w := newWorld(t, s)
	w.subscribe(s.feeds[:3]...)
	w.silent(runAt(0), "run")
	eachOnce(t, s.cut(), s.feeds[:3])
	w.subscribe()
	w.silent(runAt(0).Add(time.Minute), "run")
	eachOnce(t, s.cut(), s.feeds[3:])
	w.converged(halfAt(0))
}
