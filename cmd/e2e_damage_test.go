package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawl/crawl"
)

// A snapshot that was damaged before its merge costs a warning and perhaps requests, never rows.
func TestADamagedSnapshotCostsNoRows(t *testing.T) {
	t.Parallel()
	damages := map[string]func([]byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"text":         func([]byte) []byte { return []byte("hello\n") },
		"half":         func(b []byte) []byte { return b[:len(b)/2] },
		"no last line": func(b []byte) []byte { return b[:strings.LastIndexByte(string(b[:len(b)-1]), '\n')+1] },
		"one bit":      func(b []byte) []byte { b[len(b)*2/3] ^= 4; return b },
	}
	for name, damage := range damages {
		s := healthySite(t, 4)
		w := newWorld(t, s)
		w.subscribe()
		w.with("CRAWL_TEST_KILL=snapshot-after-mtime").run(runAt(0), "run").wantKilled()
		files, _ := filepath.Glob(filepath.Join(w.dir, "snapshots", "*.jsonl"))
		if len(files) != 1 {
			t.Fatalf("snapshots: %v", files)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], damage(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.cut()
		e := w.run(halfAt(0), "half-check").want(0)
		if strings.Count(e.stderr, "\n") != 1 || e.stdout != "" {
			t.Fatalf("%s: want one warning of %s", name, e)
		}
		atMost(t, 1, s.cut())
		w.storedOnce()
		w.sound()
		w.unblamed()
		w.nothingToDo(halfAt(0).Add(time.Minute), "half-check")
	}
}

// A snapshot that is damaged after its merge is as one that is not there: what reads it for feeds that came since gives one warning, and
// nobody else's work is held up. It ended each run of the hour, and the dry run.
func TestASnapshotDamagedAfterItsMergeHoldsNothingUp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "half-check"} {
		s := newSite(t)
		s.add("Damaged", 3)
		s.add("Damaged", 3)
		w := newWorld(t, s)
		w.subscribe()
		w.silent(runAt(0), "run")
		w.silent(runAt(1), "run", "--category", "Damaged")
		owed := []*siteFeed{s.add("Damaged", 3), s.add("Sound", 3)}
		w.subscribe(owed...)
		w.damage("Damaged")
		s.cut()
		w.foretells(halfAt(1), command, owed)
		w.converged(halfAt(1).Add(time.Minute))
		w.silent(halfAt(1).Add(time.Minute), "status", "--check")
	}
}

// Where the notes of a damaged snapshot are needed, to tell what a half-check left, its category is not done: that is told by those who
// read, and whoever comes first does it. Status ended with an error.
func TestASnapshotThatNotesWhatWasLeftIsDamaged(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "half-check"} {
		s := newSite(t)
		left := []*siteFeed{s.add("Damaged", 3), s.add("Damaged", 3), s.add("Sound", 3)}
		w := newWorld(t, s)
		w.subscribe()
		w.silent(runAt(0), "run")
		gate := make(chan struct{})
		s.edit(func() {
			for _, f := range left {
				f.gate = gate
			}
		})
		w.run(halfAt(1), "half-check", "--deadline", "1s").want(3)
		close(gate)
		s.cut()
		w.damage("Damaged")
		const passed = "a damaged file is passed over"
		at := halfAt(1).Add(time.Minute)
		if e := w.run(at, "status").want(0); !oneLine(e.stderr, passed) || !strings.Contains(e.stdout, ", not complete: the half-check left 1 feed\n") {
			t.Errorf("%s", e)
		}
		w.run(at, "status", "--check").want(1)
		w.foretells(at, command, left[:2])
		if e := w.run(at, "status", "--check").want(1); !strings.HasSuffix(e.stderr, "not complete: the half-check left 1 feed\nhint: "+crawl.LeftHint+"\n") {
			t.Errorf("%s", e)
		}
		w.silent(at, "run", "--feed", left[2].url)
		w.silent(at, "status", "--check")
		w.converged(at.Add(time.Minute))
	}
}

// A snapshot that is damaged while it is extended costs what it noted, and not the run.
func TestASnapshotDamagedWhileItIsExtended(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("Damaged", 3)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	fresh := []*siteFeed{s.add("Damaged", 3), s.add("Sound", 3)}
	w.subscribe(fresh...)
	gate := make(chan struct{})
	s.edit(func() { fresh[0].gate = gate })
	s.cut()
	run := w.start(halfAt(0), "half-check")
	s.await(t, "the new feeds' requests", arrived(2))
	w.damage("Damaged")
	close(gate)
	if e := run.wait().want(0); !oneLine(e.stderr, "a damaged file was set aside") {
		t.Errorf("want one warning of %s", e)
	}
	eachOnce(t, s.cut(), fresh)
	w.setAside()
	w.converged(halfAt(0).Add(time.Minute))
}

// damage turns over a bit in the middle of a category's snapshot.
func (w *world) damage(category string) {
	w.t.Helper()
	name := fmt.Sprintf("snapshots/%d.jsonl", w.number("SELECT id FROM categories WHERE name = ?", category))
	text := []byte(w.read(name))
	text[len(text)/2] ^= 4
	w.write(name, string(text))
}

// foretells checks that where a snapshot is damaged the dry run tells of it and of just the feeds that the command then asks, which sets that
// snapshot aside with one warning.
func (w *world) foretells(at time.Time, command string, owed []*siteFeed) {
	w.t.Helper()
	e := w.run(at, "run", "--dry-run", "--json").want(0)
	var plan []planned
	if err := json.Unmarshal([]byte(e.stdout), &plan); err != nil || !oneLine(e.stderr, "a damaged file is passed over") {
		w.t.Fatalf("%v: %s", err, e)
	}
	for _, p := range plan {
		if is := func(f *siteFeed) bool { return f.url == p.URL }; p.Fetch != slices.ContainsFunc(owed, is) {
			w.t.Errorf("%s: fetched %v: %s", p.URL, p.Fetch, p.Reason)
		}
	}
	if e := w.run(at, command).want(0); !oneLine(e.stderr, "a damaged file was set aside") {
		w.t.Errorf("want one warning of %s", e)
	}
	eachOnce(w.t, w.site.cut(), owed)
	w.setAside()
}

// setAside checks that one file was set aside, and removes it.
func (w *world) setAside() {
	w.t.Helper()
	moved, err := filepath.Glob(filepath.Join(w.dir, "snapshots", "bad", "*"))
	if err != nil || len(moved) != 1 {
		w.t.Fatalf("set aside: %v, %v", moved, err)
	}
	if err := os.Remove(moved[0]); err != nil {
		w.t.Fatal(err)
	}
}

// Where a small table of the database is damaged nothing is touched, whatever else is wrong: damage was found after a new epoch had begun,
// snapshots and flag were set aside, or a run had begun.
func TestOfADamagedDatabaseNothingIsTouched(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	old := w.read("crawl.db")
	s.edit(func() { s.feeds[0].publish() })
	w.silent(runAt(1), "run")
	good, snapshot := w.read("crawl.db"), w.read("snapshots/1.jsonl")
	small := []string{"meta", "categories", "feeds", "former_urls", "merged", "runs", "steps", "sqlite_sequence"}
	for _, table := range small {
		page := w.number("SELECT rootpage FROM sqlite_schema WHERE name = ?", table)
		for _, test := range []struct {
			name  string
			at    time.Time
			files map[string]string
		}{
			{"a backup put back", runAt(1).Add(time.Minute), map[string]string{"crawl.db": damagedAt(old, page)}},
			{"a damaged snapshot", runAt(1).Add(time.Minute), map[string]string{"crawl.db": damagedAt(good, page), "snapshots/1.jsonl": "?"}},
			{"a damaged flag", runAt(1).Add(time.Minute), map[string]string{"crawl.db": damagedAt(good, page), "run.json": "?"}},
			{"nothing else", runAt(2), map[string]string{"crawl.db": damagedAt(good, page)}},
		} {
			for name, text := range test.files {
				w.write(name, text)
			}
			w.untouched(table+" is damaged, and "+test.name, test.at, "run")
			w.write("crawl.db", good)
			w.write("snapshots/1.jsonl", snapshot)
			os.Remove(filepath.Join(w.dir, "run.json"))
		}
	}
	w.silent(runAt(2), "run")
	w.converged(halfAt(2))
}

// Damage in a table that grows with items is met by the merge: what was fetched stays in the snapshots, and is merged once the same
// database is whole again, by what was put back of it or by a backup that lacks no change.
func TestWhatADamagedDatabaseCouldNotTakeIsMergedOnceItIsWhole(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"items", "contents", "changes", "fetches", "documents"} {
		for _, backup := range []bool{false, true} {
			s := healthySite(t, 4)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			page := w.number("SELECT rootpage FROM sqlite_schema WHERE name = ?", table)
			good := w.read("crawl.db")
			s.edit(func() {
				for _, f := range s.feeds {
					f.publish()
				}
			})
			w.write("crawl.db", damagedAt(good, page))
			if e := w.run(runAt(1), "run").want(7); !strings.Contains(e.stderr, "database is damaged") {
				t.Fatalf("%s: %s", table, e)
			}
			if repaired := []byte(w.read("crawl.db")); !backup {
				copy(repaired[(page-1)*4096:], good[(page-1)*4096:page*4096])
				good = string(repaired)
			}
			w.write("crawl.db", good)
			s.cut()
			w.silent(halfAt(1), "half-check")
			if n := len(s.cut()); n != 0 {
				t.Errorf("%s: what was fetched is requested again, in %d requests", table, n)
			}
			w.converged(halfAt(1).Add(time.Minute))
		}
	}
}

// What a dead run left open is not closed in a damaged database either, its row and its leases: only old snapshots were a reason to look. Nor
// is the -wal moved into it.
func TestInADamagedDatabaseADeadRunIsNotClosed(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"run-started", "flag-up", "claim-after-commit"} {
		for _, command := range []string{"run", "half-check"} {
			s := healthySite(t, 4)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			page := w.number("SELECT rootpage FROM sqlite_schema WHERE name = 'former_urls'")
			w.with("CRAWL_TEST_KILL="+point).run(runAt(1), "run").wantKilled()
			if command == "run" {
				w.query("SELECT 1") // which ends the -wal
			}
			good := w.read("crawl.db")
			w.write("crawl.db", damagedAt(good, page))
			w.untouched("killed at "+point, runAt(1).Add(time.Minute), command)
			w.write("crawl.db", good)
			w.silent(halfAt(1), "half-check")
			w.converged(halfAt(1).Add(time.Minute))
		}
	}
}

// The damage that only the merge of an earlier snapshot meets comes before anything is set aside, too.
func TestNothingIsSetAsideWhereAMergeFails(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.edit(func() { s.feeds[0].publish() })
	w.with("CRAWL_TEST_KILL=merge-begin").run(runAt(1), "run").wantKilled()
	w.write("snapshots/9.jsonl", "?")
	page := w.number("SELECT rootpage FROM sqlite_schema WHERE name = 'items'") // which ends the -wal
	good := w.read("crawl.db")
	w.write("crawl.db", damagedAt(good, page))
	before := w.snapshots()
	w.run(halfAt(1), "half-check").want(7)
	same(t, "snapshots", before, w.snapshots())
	w.write("crawl.db", good)
	if e := w.run(halfAt(1), "half-check").want(0); !oneLine(e.stderr, "a damaged file was set aside") {
		t.Fatalf("want one warning of %s", e)
	}
	w.storedOnce()
}

// The kill flag, the kept start minute and a copy that is no database with -wal yet wait for the look for damage, too.
func TestOfADamagedDatabaseNothingIsTouchedAtTheStart(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	copied := filepath.Join(t.TempDir(), "copy.db")
	w.change("VACUUM INTO '" + copied + "'")
	good := w.read("crawl.db")
	copyText, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	pageOf := func(table string) int { return w.number("SELECT rootpage FROM sqlite_schema WHERE name = ?", table) }
	damaged := damagedAt(good, pageOf("former_urls"))
	w.write("crawl.db", string(copyText))
	damagedCopy := damagedAt(string(copyText), pageOf("former_urls"))
	for _, test := range []struct {
		name, database string
		args           []string
	}{
		{"the kill flag is up", damaged, []string{"run"}},
		{"the kill flag is up", damaged, []string{"run", "--start-minute", "20"}},
		{"another start minute", damaged, []string{"half-check", "--start-minute", "20"}},
		{"not ours, and the kill flag is up", "text", []string{"run"}},
		{"a copy, and the kill flag is up", damagedCopy, []string{"run"}},
		{"a copy", damagedCopy, []string{"half-check"}},
		{"a copy", damagedCopy, []string{"remove", "1", "--yes"}},
	} {
		t.Run(test.name+", "+test.args[0], func(t *testing.T) {
			w := w.with()
			w.t = t
			if test.args[0] == "run" {
				w.run(halfAt(0), "kill").want(0)
			}
			w.write("crawl.db", test.database)
			w.untouched(test.name, runAt(1), test.args...)
			os.Remove(filepath.Join(w.dir, "kill"))
		})
	}
	w.write("crawl.db", good)
	w.run(halfAt(0), "kill").want(0)
	w.silent(runAt(1).Add(-10*time.Minute), "run", "--start-minute", "20")
	w.converged(runAt(1))
	if got := w.keptMinute(); got != 20 {
		t.Errorf("start minute %d is kept, want 20", got)
	}
}

// untouched runs a command that must find the database damaged, or not ours, and write nothing.
func (w *world) untouched(state string, at time.Time, args ...string) {
	w.t.Helper()
	files := func() []string { // the -shm is an index of the -wal
		return slices.DeleteFunc(w.writable(), func(line string) bool { return strings.HasPrefix(line, "crawl.db-shm ") })
	}
	before := files()
	if e := w.run(at, args...).want(7); !strings.Contains(e.stderr, "crawl.db: ") {
		w.t.Fatalf("%s: %s", state, e)
	}
	same(w.t, fmt.Sprintf("files after %v: %s", args, state), before, files())
}

// snapshots lists the files of the directory that have to do with snapshots.
func (w *world) snapshots() []string {
	w.t.Helper()
	return slices.DeleteFunc(w.files(), func(line string) bool { return !strings.HasPrefix(line, "snapshots/") })
}

// damagedAt is a database whose page of this number is of no known type.
func damagedAt(database string, page int) string {
	b := []byte(database)
	b[(page-1)*4096] = 0xff
	return string(b)
}

// read and write are for files of the data directory.
func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
