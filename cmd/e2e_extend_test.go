package cmd

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A new feed in a category that is done for the hour is fetched, and whatever else the hour still owes, too: an extended category and
// one that has not begun may share a claim.
func TestExtendingACategoryTakesNothingFromOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.add("Done", 2)
	}
	for range 5 {
		s.add("Later", 2)
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	w.silent(runAt(1), "run", "--category", "Done")
	fresh := []*siteFeed{s.add("Done", 2), s.add("Done", 2)}
	w.subscribe(fresh...)
	s.cut()
	w.silent(halfAt(1), "half-check")
	eachOnce(t, s.cut(), s.feeds[3:])
	w.converged(halfAt(1).Add(time.Minute))
}

// Killed when it has all it wants, an extension leaves nothing behind but what the next half-check takes away.
func TestAnExtensionKilledBeforeItsEnd(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"snapshot-closing", "snapshot-before-rename", "snapshot-after-rename"} {
		w, extend := extended(t)
		extend(point)
		w.silent(halfAt(0).Add(time.Minute), "half-check")
		eachOnce(t, w.site.cut(), nil)
		w.converged(halfAt(0).Add(2 * time.Minute))
	}
}

// A feed that was done this hour and is resumed after an extension was killed is due at once all the same.
func TestAFeedResumedAfterAKilledExtension(t *testing.T) {
	t.Parallel()
	w, extend := extended(t)
	extend("snapshot-closing")
	for _, command := range []string{"stop", "resume"} {
		w.run(halfAt(0).Add(time.Minute), command, w.site.feeds[0].url).want(0)
	}
	w.silent(halfAt(0).Add(2*time.Minute), "half-check")
	eachOnce(t, w.site.cut(), w.site.feeds[:1])
	w.converged(halfAt(0).Add(3 * time.Minute))
}

// extended is a category that is done this hour, and has got a feed since. extend kills the half-check that fetches it at a point.
func extended(t *testing.T) (w *world, extend func(point string)) {
	t.Helper()
	s := healthySite(t, 3)
	w = newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	fresh := s.add("News", 2)
	w.subscribe(fresh)
	return w, func(point string) {
		t.Helper()
		s.cut()
		w.with("CRAWL_TEST_KILL="+point).run(halfAt(0), "half-check").wantKilled()
		eachOnce(t, s.cut(), []*siteFeed{fresh})
	}
}

// What belongs to the whole hour is not done by a run of one category; and snapshots of another life of the database are set aside, all of
// them in one line: each had its own.
func TestARunOfOneCategoryIsNotTheHours(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("One", 2)
	s.add("Two", 2)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run", "--category", "One")
	if steps := w.steps(); len(steps) != 0 {
		t.Errorf("steps after a run of one category: %v", steps)
	}
	w.silent(halfAt(0), "half-check")
	eachOnce(t, s.cut(), s.feeds)
	if steps := w.steps(); len(steps) != 1 {
		t.Errorf("steps after the hour: %v", steps)
	}
	w.change("UPDATE meta SET epoch = epoch + 1")
	aside := `"snapshots of another database are set aside in snapshots/bad" snapshots=2 first=` + w.dir + "/snapshots/1.jsonl\n"
	if e := w.run(halfAt(0).Add(time.Minute), "half-check").want(0); !oneLine(e.stderr, aside) {
		t.Errorf("want one line about the snapshots of another database of %s", e)
	}
	if moved, err := filepath.Glob(filepath.Join(w.dir, "snapshots", "bad", "*")); err != nil || len(moved) != 2 {
		t.Errorf("snapshots of another database are taken for this one's: %v, %v", moved, err)
	}
}

// A category that is named twice, and a feed that is named by id and by URL, are worked on once.
func TestWhatIsNamedTwiceIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("One", 2)
	s.add("Two", 2)
	w := newWorld(t, s)
	w.subscribe()
	again := []string{"--category", "One", "--category", "Two", "--category", "One"}
	if e := w.run(runAt(0), append([]string{"run", "--dry-run"}, again...)...).want(0); strings.Count(e.stdout, "fetch ") != 2 {
		t.Errorf("the plan names a feed twice: %s", e)
	}
	w.silent(runAt(0), append([]string{"run"}, again...)...)
	eachOnce(t, s.cut(), s.feeds)
	w.silent(runAt(1), "run", "--feed", "1", "--feed", s.feeds[0].url, "--feed", "1")
	eachOnce(t, s.cut(), s.feeds[:1])
	w.silent(halfAt(1), "half-check")
	w.converged(halfAt(1).Add(time.Minute))
}

// change writes to the database, as another program might.
func (w *world) change(statement string) {
	w.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(w.dir, "crawl.db")+"?_busy_timeout=10000")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		w.t.Fatal(err)
	}
}

// The half-check keeps to max-feeds, whatever source it comes from; of a run that died it takes that run's.
func TestTheHalfCheckObeysMaxFeeds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		env  []string
		args []string
		run  []string // a run that dies; nil: none
		want int
	}{
		"file":                 {file: "max-feeds = 2", want: 2},
		"variable":             {env: []string{"CRAWL_MAX_FEEDS=3"}, want: 3},
		"flag":                 {args: []string{"--max-feeds", "1"}, want: 1},
		"none":                 {want: 5},
		"that of the dead run": {file: "max-feeds = 2", run: []string{"--max-feeds", "4"}, want: 4},
		"no cap of the dead":   {file: "max-feeds = 2", run: []string{"--max-feeds", "0"}, want: 5},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			for range 5 {
				s.add("News", 2)
			}
			w := newWorld(t, s, test.env...)
			w.subscribe()
			if err := os.WriteFile(filepath.Join(w.dir, "crawl.toml"), []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			if test.run != nil {
				w.with("CRAWL_TEST_KILL=flag-up").run(runAt(0), append([]string{"run"}, test.run...)...).wantKilled()
			}
			w.run(halfAt(0), append([]string{"half-check"}, test.args...)...).want(0)
			if n := len(s.cut()); n != test.want {
				t.Errorf("%d feeds were fetched, want %d", n, test.want)
			}
		})
	}
}
