package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
)

// A database that was put back from a backup gets a new epoch; the next run brings what it lacks.
func TestABackupPutBackIsNoticedAndCaughtUp(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	database := filepath.Join(w.dir, "crawl.db")
	backup, err := os.ReadFile(database)
	if err != nil {
		t.Fatal(err)
	}
	s.edit(func() {
		for _, f := range s.feeds {
			f.publish()
		}
	})
	w.silent(runAt(1), "run")
	if err := os.WriteFile(database, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if e := w.run(runAt(2), "run").want(0); !strings.Contains(e.stderr, "epoch") {
		t.Fatalf("it is not noticed: %s", e)
	}
	var status struct{ Epoch int }
	if e := w.run(halfAt(2), "status", "--json").want(0); json.Unmarshal([]byte(e.stdout), &status) != nil || status.Epoch < 2 {
		t.Fatalf("no new epoch: %s", e)
	}
	w.storedOnce()
	w.sound()
	w.unblamed()
	w.nothingToDo(halfAt(2), "half-check")
}

// Until something writes, a database that was put back from a backup has its old epoch: a reader that has come further than it was given
// no changes and no reason. One that has not misses nothing.
func TestABackupPutBackIsNoticedByAReaderThatIsAhead(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 1)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	database, backup := filepath.Join(w.dir, "crawl.db"), filepath.Join(t.TempDir(), "backup.db")
	copyDatabase(t, database, backup)
	kept := w.number("SELECT max(seq) FROM changes")
	s.edit(func() { s.feeds[0].publish() })
	w.silent(runAt(1), "run")
	lost := w.number("SELECT max(seq) FROM changes")
	after := func(seq int) []string { return []string{"items", "--after", fmt.Sprint(seq), "--jsonl"} }
	w.silent(runAt(1), after(lost)...)
	copyDatabase(t, backup, database)
	w.silent(halfAt(1), after(kept)...)
	if e := w.run(halfAt(1), after(lost)...).want(1); e.stdout != "" || !strings.Contains(e.stderr, "backup") || !strings.Contains(e.stderr, "crawl run") {
		t.Fatalf("it is not noticed: %s", e)
	}
	w.run(runAt(2), "run").want(0)
	for _, seq := range []int{kept, lost} { // a number that was given is not given again: whoever does not know the new epoch gets what is new
		if e := w.run(halfAt(2), after(seq)...).want(0); strings.Count(e.stdout, `"kind":"new"`) != 1 {
			t.Fatalf("after %d: %s", seq, e)
		}
	}
}

// A reader's cursor of the lost future goes wrong in silence if only runs compare and remember: whatever changes seq does both.
func TestABackupPutBackIsNoticedByWhateverWrites(t *testing.T) {
	t.Parallel()
	everything := []string{"remove", "1", "2", "3", "4", "--yes"}
	tests := map[string]struct{ lost, next []string }{
		"lost by a run, met by a removal":  {[]string{"run"}, everything}, // which gives more than what was lost
		"lost by a removal, met by a run":  {everything[:3:3], []string{"run"}},
		"lost by a removal, met by a like": {[]string{"remove", "1"}, everything},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := healthySite(t, 4)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			database := filepath.Join(w.dir, "crawl.db")
			backup, err := os.ReadFile(database)
			if err != nil {
				t.Fatal(err)
			}
			s.edit(func() { s.feeds[0].publish() })
			if test.lost[0] == "remove" {
				test.lost = append(test.lost, "--yes")
			}
			w.run(runAt(1), test.lost...).want(0)
			if err := os.WriteFile(database, backup, 0o600); err != nil {
				t.Fatal(err)
			}
			if e := w.run(runAt(2), test.next...).want(0); strings.Count(e.stderr, "put back from a backup") != 1 {
				t.Fatalf("it is not noticed: %s", e)
			}
			if e := w.run(runAt(3), "run").want(0); strings.Contains(e.stderr, "put back") {
				t.Fatalf("it is noticed twice: %s", e)
			}
			var status struct{ Epoch int }
			if e := w.run(halfAt(3), "status", "--json").want(0); json.Unmarshal([]byte(e.stdout), &status) != nil || status.Epoch < 2 {
				t.Fatalf("no new epoch: %s", e)
			}
		})
	}
}

// What a run writes goes into a file without a name once its database is removed or another is moved into its place: it says so.
func TestADatabaseReplacedUnderARunIsAnError(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(database string) error{
		"removed": os.Remove,
		"replaced": func(database string) error {
			data, err := os.ReadFile(database)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(database+".bak", data, 0o600), os.Rename(database+".bak", database))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthySite(t, 4)
			w := newWorld(t, s)
			w.subscribe()
			gate := make(chan struct{})
			s.edit(func() {
				for _, f := range s.feeds {
					f.gate = gate
				}
			})
			run := w.start(runAt(0), "run")
			s.await(t, "all requests", arrived(4))
			if err := replace(filepath.Join(w.dir, "crawl.db")); err != nil {
				t.Fatal(err)
			}
			close(gate)
			if e := run.wait().want(1); !strings.Contains(e.stderr, "the database was replaced or removed") || !strings.Contains(e.stderr, "crawl kill") {
				t.Fatalf("nothing is said: %s", e)
			}
		})
	}
}

// A backup that is put into the database under a run, by sqlite3's .restore, leaves the file in its place: the run ends as for any other
// replaced database, tells nobody of the old epoch, and what follows goes on from the backup. It ended with "not found" and code 2.
func TestABackupPutIntoTheDatabaseUnderARun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lost   bool // the backup has fewer changes than the database had
		beside []string
	}{
		"with fewer changes":                         {lost: true},
		"with fewer changes, met by another command": {lost: true, beside: []string{"add", "--no-fetch", "http://127.0.0.1:1/"}},
		"with every change, but not the run":         {},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "epochs")
			s := healthySite(t, 4)
			w := newWorld(t, s, "CRAWL_HOOK=echo $CRAWL_EPOCH >> "+out)
			w.subscribe()
			w.silent(runAt(0), "run")
			backup := filepath.Join(t.TempDir(), "backup.db")
			copyDatabase(t, filepath.Join(w.dir, "crawl.db"), backup)
			publish := func() {
				if test.lost {
					s.edit(func() { s.feeds[0].publish() })
				}
			}
			publish()
			w.silent(runAt(1), "run", "--force")
			old := lines(t, out)
			gate := make(chan struct{})
			publish()
			s.edit(func() {
				for _, f := range s.feeds {
					f.gate = gate
				}
			})
			run := w.start(runAt(2), "run", "--force")
			s.await(t, "all requests", arrived(12))
			copyDatabase(t, backup, filepath.Join(w.dir, "crawl.db"))
			told := 0
			if test.beside != nil {
				told += strings.Count(w.run(runAt(2), test.beside...).want(0).stderr, "put back from a backup")
			}
			close(gate)
			e := run.wait().want(1)
			if !strings.Contains(e.stderr, "the database was replaced or removed") || !strings.Contains(e.stderr, "crawl kill") {
				t.Fatalf("the end is not clear: %s", e)
			}
			same(t, "calls of the hook", old, lines(t, out))
			told += strings.Count(e.stderr, "put back from a backup")
			told += strings.Count(w.run(halfAt(2), "half-check").want(0).stderr, "put back from a backup")
			told += strings.Count(w.run(runAt(3), "run").want(0).stderr, "put back from a backup")
			if want := map[bool]int{true: 1}[test.lost]; told != want {
				t.Fatalf("the new epoch is told of %d times, not %d", told, want)
			}
			calls, epoch := lines(t, out), w.query("SELECT epoch FROM meta")[0]
			if calls[len(calls)-1] != epoch || slices.Contains(old, epoch) == test.lost {
				t.Fatalf("the hook has %v, before that %v, the database %s", calls, old, epoch)
			}
			w.storedOnce()
			w.sound()
			w.unblamed()
		})
	}
}

// copyDatabase brings what a database holds into another file, which may be a database in use, by SQLite's backup API.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	open := func(path string) *sqlite3.SQLiteConn {
		c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + path + "?_busy_timeout=10000")
		if err != nil {
			t.Fatal(err)
		}
		return c.(*sqlite3.SQLiteConn)
	}
	source, target := open(from), open(to)
	b, err := target.Backup("main", source, "main")
	if err != nil {
		t.Fatal(err)
	}
	done, err := b.Step(-1)
	if err = errors.Join(err, b.Finish(), source.Close(), target.Close()); err != nil || !done {
		t.Fatalf("copied %v: %v", done, err)
	}
}
