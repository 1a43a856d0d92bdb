package cmd

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

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
