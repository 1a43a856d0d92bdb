package cmd

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

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

// A feed whose items cannot be stored is counted once in the summary: as failed, not as changed too. The limit stops it in the words of
// every other failure, and it waits for the hours of its document as after those. The store had rules of its own.
func TestWhatCannotBeStoredIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 3)
	w := newWorld(t, s, "CRAWL_MAX_FAILURES=1")
	w.subscribe()
	hour := firstHour().UTC().Hour()
	w.change(fmt.Sprintf(`UPDATE feeds SET schedule = '{"skip_hours":[%d,%d,%d]}'`, hour, (hour+1)%24, (hour+2)%24))
	w.change("CREATE TRIGGER poison BEFORE INSERT ON items WHEN new.feed_id = 2 BEGIN SELECT RAISE(ABORT, '" + strings.Repeat("poison ", 99) + "'); END")
	e := w.run(runAt(0), "run", "--json").want(0)
	var got struct {
		Feeds struct{ Fetched, Changed, Failed int }
	}
	if err := json.Unmarshal([]byte(e.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, e)
	}
	if n := got.Feeds; n.Fetched != 3 || n.Changed != 2 || n.Failed != 1 {
		t.Errorf("3 feeds, of which 1 cannot be stored, are told as %+v", n)
	}
	row := w.query("SELECT stopped_reason, length(last_error), next_fetch_at FROM feeds WHERE id = 2")[0]
	const reason = "1 failure in a row, the last: cannot be stored: "
	if parts := strings.Split(row, " | "); !strings.HasPrefix(row, reason) || len(parts[0]) > 500 || parts[1] != "500" || !strings.Contains(parts[2], ":00:00Z") {
		t.Errorf("the feed is stopped with %s", row)
	}
}

// A foreign program that holds the database's write lock for a moment is waited for; while it does, a signal is obeyed.
func TestAForeignWriteLockIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	release := w.writeLock()
	run := w.start(runAt(0), "run")
	time.Sleep(time.Second)
	release()
	run.wait().want(0).wantSilence()
	w.converged(halfAt(0))

	release = w.writeLock()
	defer release()
	run = w.start(runAt(1), "run")
	time.Sleep(500 * time.Millisecond)
	began := time.Now()
	run.signal(syscall.SIGTERM)
	run.wait()
	if took := time.Since(began); took > soon {
		t.Fatalf("the signal was obeyed after %v", took)
	}
	release()
	w.silent(halfAt(1), "half-check")
	w.converged(halfAt(1).Add(time.Minute))
}

// writeLock takes the database's write lock as another program would.
func (w *world) writeLock() (release func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(w.dir, "crawl.db")+"?_busy_timeout=10000&_txlock=immediate")
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		tx.Rollback()
		db.Close()
	}
}

// A reader that stays open disturbs nothing.
func TestAnOpenReaderDisturbsNothing(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(w.dir, "crawl.db")+"?_query_only=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reader, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after int
	if err := reader.QueryRow("SELECT count(*) FROM items").Scan(&before); err != nil {
		t.Fatal(err)
	}
	s.edit(func() {
		for _, f := range s.feeds {
			f.publish()
		}
	})
	w.silent(runAt(1), "run")
	if err := reader.QueryRow("SELECT count(*) FROM items").Scan(&after); err != nil || before != after {
		t.Fatalf("the reader saw %d, then %d items: %v", before, after, err)
	}
	reader.Rollback()
	db.Close()
	w.silent(runAt(2), "run")
	w.converged(halfAt(2))
}

// A clock that goes back some hours and forward again makes no row twice, and blames nobody.
func TestAClockThatStepsMakesNothingTwice(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 4)
	w, calls := hooked(t, s, "true")
	for n, hour := range []int{5, 2, 3, 29, 6, 30} {
		s.edit(func() { s.feeds[n%4].publish() })
		w.silent(runAt(hour), "run", "--force")
		w.silent(halfAt(hour), "half-check")
		w.converged(halfAt(hour).Add(time.Minute))
		if len(calls()) != n+1 {
			t.Fatalf("after %d runs with changes the hook was called %d times", n+1, len(calls()))
		}
	}
}

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

// A disk that is full at whatever moment loses nothing: the run ends with a message, and once there is space the half-check comes to
// the same rows.
func TestAFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 30 {
		s.add("News", 20)
	}
	full, sizes := 0, []int{500, 700, 900}
	if long() {
		sizes = nil
		for size := 300; size < 1800; size += 50 {
			sizes = append(sizes, size)
		}
	}
	for _, size := range sizes {
		w := newWorld(t, s)
		out := filepath.Join(t.TempDir(), "copy")
		script := fmt.Sprintf(`set -u; export CRAWL_DIR=%[1]s
mkdir -p %[1]s %[2]s; mount -t tmpfs -o size=64m,mode=0700 tmpfs %[1]s || exit 99
at() { now=$1; shift; CRAWL_TEST_NOW=$now "$@"; }
at %[3]s "$1" import %[6]s || exit 98
used=$(du -sk %[1]s | cut -f1)
mount -o remount,size=$(( used > %[7]d ? used + 12 : %[7]d ))k %[1]s || exit 99
at %[4]s "$1" run; echo "run $?"
mount -o remount,size=64m %[1]s || exit 99
at %[5]s "$1" half-check; echo "half-check $?"
at %[5]s "$1" half-check; echo "half-check $?"
cp %[1]s/crawl.db %[2]s/crawl.db; find %[1]s -type f; exit 0; `,
			w.dir, out, runAt(-1).Format(time.RFC3339), runAt(0).Format(time.RFC3339), halfAt(0).Format(time.RFC3339), s.opml(), size)
		e := w.unshared([]string{"--mount"}, script, w.env).mounted()
		switch {
		case strings.HasPrefix(e.stdout, "run 1\nhalf-check 0\nhalf-check 0\n") && strings.Contains(e.stderr, "full"):
			full++
		case strings.HasPrefix(e.stdout, "run 0\nhalf-check 0\nhalf-check 0\n") && onlyStepsMetAFullDisk(e.stderr):
		default:
			t.Fatalf("with %d KiB: %s", size, e)
		}
		if strings.Contains(e.stdout, ".part") || strings.Contains(e.stdout, "run.json") {
			t.Fatalf("left over with %d KiB: %s", size, e)
		}
		w.dir = out
		w.storedOnce()
		w.sound()
		w.unblamed()
	}
	if full == 0 {
		t.Fatal("the disk was never full")
	}
	t.Logf("the disk was full in %d of %d sizes", full, len(sizes))
}

// onlyStepsMetAFullDisk reports whether nothing was said, or of each line one step after the merge, which the next half-check repeats:
// how much the last part of a run writes differs from one run to the next, so it may meet the limit alone.
func onlyStepsMetAFullDisk(stderr string) bool {
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "a step after the merge failed") || !strings.Contains(line, "disk is full") {
			return false
		}
	}
	return true
}

// With few descriptors a run takes longer, and stores all.
func TestFewDescriptorsAreEnough(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 120)
	w := newWorld(t, s)
	w.subscribe()
	w.ulimit("-n 24", runAt(0), "run").want(0).wantSilence()
	eachOnce(t, s.cut(), s.feeds)
	w.converged(halfAt(0))
}

// A file that may not grow ends the run with one line; without the limit the half-check does the rest.
func TestAFileSizeLimitLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 30 {
		s.add("News", 20)
	}
	w := newWorld(t, s)
	w.subscribe()
	if e := w.ulimit("-f 320", runAt(0), "run").want(1); strings.Count(e.stderr, "crawl: ") != 1 || strings.Contains(e.stderr, "goroutine") {
		t.Fatalf("want one line of %s", e)
	}
	w.silent(halfAt(0), "half-check")
	w.converged(halfAt(0).Add(time.Minute))
}

// ulimit runs the program under a limit of the shell's.
func (w *world) ulimit(limit string, at time.Time, args ...string) ending {
	w.t.Helper()
	c := command(w.t, append(slices.Clone(w.env), "CRAWL_TEST_NOW="+at.Format(time.RFC3339)), args...)
	c.Args = append([]string{"sh", "-c", "ulimit " + limit + ` && exec "$0" "$@"`, c.Path}, args...)
	c.Path = "/bin/sh"
	return begin(w.t, c, args).wait()
}
