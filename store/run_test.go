package store

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
)

func TestRuns(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	start := func(host string, at time.Time) Run {
		r := Run{Host: host, Kind: "run", Hour: hourOf(at), StartedAt: at}
		id, err := s.StartRun(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		r.ID = id
		return r
	}
	a, b, c := start("a", t0), start("b", t0), start("a", t0.Add(time.Hour))
	a.FinishedAt, a.Outcome = t0.Add(time.Minute), "done"
	a.Counts = Counts{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	if err := s.FinishRun(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := s.FinishRun(ctx, Run{ID: 99}); !errors.Is(err, ErrReplaced) {
		t.Errorf("got %v", err)
	}
	runs, err := s.Runs(ctx, 2)
	if err != nil || len(runs) != 2 || runs[0] != c || runs[1] != b {
		t.Errorf("%+v %v", runs, err)
	}
	runs, err = s.RunsOf(ctx, "a", hour)
	if err != nil || len(runs) != 1 || runs[0] != a {
		t.Errorf("%+v %v", runs, err)
	}
	start("a", t0.Add(2*time.Hour))
	for since, why := range map[time.Time]string{t0.Add(2 * time.Hour): "it was ended", t0.Add(3 * time.Hour): "none"} {
		if err := s.CrashRuns(ctx, "a", since, why, t0.Add(3*time.Hour)); err != nil {
			t.Error(err)
		}
	}
	for _, left := range []bool{true, false} {
		if got, err := s.LeftOpen(ctx, "a"); got != left || err != nil {
			t.Errorf("left open: %v, %v; want %v", got, err, left)
		}
		if err := s.CrashRuns(ctx, "a", time.Time{}, "it died", t0.Add(4*time.Hour)); err != nil {
			t.Error(err)
		}
	}
	want(t, "outcomes", dump(t, s, "SELECT outcome, reason, finished_at FROM runs"), `
done|<nil>|2026-11-30T10:31:00Z
<nil>|<nil>|<nil>
crashed|it died|2026-11-30T14:30:00Z
crashed|it was ended|2026-11-30T13:30:00Z`)
}

func TestSteps(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	if seq, err := s.StepSeq(ctx, "a", "hook"); seq != 0 || err != nil {
		t.Errorf("%d %v", seq, err)
	}
	later := Step{Host: "a", Hour: hour.Add(time.Hour), Name: "hook", FinishedAt: t0.Add(time.Hour), Seq: 9}
	for _, st := range []Step{
		{Host: "a", Hour: hour, Name: "hook", FinishedAt: t0, Seq: 5}, later, {Host: "a", Hour: hour, Name: "hook", FinishedAt: t0, Seq: 7},
		{Host: "b", Hour: hour.Add(5 * time.Hour), Name: "hook", FinishedAt: t0, Seq: 8},
	} {
		if err := s.FinishStep(ctx, st); err != nil {
			t.Fatal(err)
		}
	}
	if seq, err := s.StepSeq(ctx, "a", "hook"); seq != 9 || err != nil {
		t.Errorf("%d %v", seq, err)
	}
	for h, want := range map[time.Time]bool{hour: true, later.Hour: true, hour.Add(5 * time.Hour): false} {
		if done, err := s.StepDone(ctx, "a", h, "hook"); done != want || err != nil {
			t.Errorf("%v: %v %v", h, done, err)
		}
	}
	for _, st := range []Step{{Host: "a", Hour: hour, Name: "hook", Error: "an old one"}, {Host: "a", Hour: later.Hour, Name: "hook", Error: "exit 7"}} {
		if err := s.FailStep(ctx, st); err != nil {
			t.Fatal(err)
		}
	}
	failed, err := s.FailedSteps(ctx, "a")
	if err != nil || len(failed) != 1 || failed[0] != (Step{Host: "a", Hour: later.Hour, Name: "hook", Error: "exit 7"}) {
		t.Errorf("failed steps %+v %v", failed, err)
	}
	if done, err := s.StepDone(ctx, "a", later.Hour, "hook"); done || err != nil {
		t.Errorf("a step that failed is done: %v %v", done, err)
	}
	if err := s.FinishStep(ctx, later); err != nil {
		t.Fatal(err)
	}
	if failed, err := s.FailedSteps(ctx, "a"); len(failed) != 0 || err != nil {
		t.Errorf("failed steps after success %+v %v", failed, err)
	}
	want(t, "last wins", dump(t, s, "SELECT seq FROM steps WHERE host = 'a' ORDER BY hour"), "7\n9")
	if err := s.Optimize(ctx); err != nil {
		t.Error(err)
	}
}

// A database that was put back from a backup gets a new epoch, once.
func TestEpoch(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	first, err := s.Epoch(ctx)
	if other, _ := newStore(t).Epoch(ctx); first < 1 || other == first || err != nil {
		t.Errorf("epochs %d and %d of two databases, %v", first, other, err)
	}
	if n, err := s.HighestSeq(ctx); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	id := addFeeds(t, s, 1, "c")[0]
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one"), item(2, "two")))
	backup := filepath.Join(t.TempDir(), "backup.db")
	err = s.withWriter(ctx, func(x *tx) error { return x.run("VACUUM INTO ?", backup) })
	if err != nil {
		t.Fatal(err)
	}
	t1 := t0.Add(time.Hour)
	merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, item(3, "three")))
	seen, err := s.HighestSeq(ctx)
	if seen != 3 || err != nil {
		t.Errorf("%d %v", seen, err)
	}
	renewals := 0
	behind := func(o *Options) {
		o.Migrate, o.Seen = true, seen
		o.Committed = func(_ int64, renewed bool) {
			if renewed {
				renewals++
			}
		}
	}
	if e, err := openStore(t, pathOf(t, s), behind).HoldEpoch(ctx); e != first || renewals != 0 || err != nil {
		t.Errorf("%d %d %v", e, renewals, err)
	}
	old := openStore(t, backup, behind)
	e, err := old.HoldEpoch(ctx)
	if e == first || renewals != 1 || err != nil {
		t.Errorf("%d %d %v", e, renewals, err)
	}
	if again, err := openStore(t, backup, behind).HoldEpoch(ctx); again != e || renewals != 1 || err != nil {
		t.Errorf("%d %d %v", again, renewals, err)
	}
	want(t, "epoch", dump(t, old, "SELECT count(*) FROM meta"), "1")
}

// A backup that is put into the file while a store is held to its epoch gets nothing of what the store's user goes on to write, whether
// another process has begun the new epoch or not.
func TestABackupPutIntoTheFileTakesNothingMore(t *testing.T) {
	ctx := context.Background()
	for name, met := range map[string]bool{"by it alone": false, "by another process first": true} {
		s := newStore(t)
		id := addFeeds(t, s, 1, "c")[0]
		run, err := s.StartRun(ctx, Run{Host: "a", Kind: "run", Hour: hourOf(t0), StartedAt: t0})
		if err != nil {
			t.Fatal(err)
		}
		backup := filepath.Join(t.TempDir(), "backup.db")
		if err = s.withWriter(ctx, func(x *tx) error { return x.run("VACUUM INTO ?", backup) }); err != nil {
			t.Fatal(err)
		}
		if _, err := s.HoldEpoch(ctx); err != nil {
			t.Fatal(err)
		}
		claim := claimOne(t, s, t0, id)
		merge1(t, s, t0, success(claim, t0, item(1, "one")))
		path := pathOf(t, s)
		restore(t, backup, path)
		if met {
			if err := openStore(t, path, func(o *Options) { o.Seen = 1 }).SetRanked(ctx, "c", true); err != nil {
				t.Fatal(err)
			}
		}
		everything := func() string {
			return dump(t, s, "SELECT * FROM meta, sqlite_sequence, categories, feeds, runs LEFT JOIN items LEFT JOIN steps")
		}
		before := everything()
		_, mergeErr := s.Merge(ctx, run, []Entry{success(claim, t0, item(2, "two"))}, nil, t0)
		_, _, countErr := s.ChangeCounts(ctx, 0)
		for what, err := range map[string]error{
			"merge":  mergeErr,
			"counts": countErr,
			"finish": s.FinishRun(ctx, Run{ID: run, Outcome: "done"}),
			"step":   s.FinishStep(ctx, Step{Host: "a", Hour: hour, Name: "hook"}),
		} {
			if !errors.Is(err, ErrReplaced) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		want(t, name, everything(), before)
	}
}

// restore puts a backup into a database as sqlite3's .restore does: the file stays the same.
func restore(t testing.TB, from, to string) {
	t.Helper()
	source, target := foreignConn(t, from), foreignConn(t, to)
	b, err := target.Backup("main", source, "main")
	if err != nil {
		t.Fatal(err)
	}
	done, err := b.Step(-1)
	if err = errors.Join(err, b.Finish(), source.Close(), target.Close()); err != nil || !done {
		t.Fatal(done, err)
	}
}

func foreignConn(t testing.TB, path string) *sqlite3.SQLiteConn {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(dsn(path, writing))
	if err != nil {
		t.Fatal(err)
	}
	return c.(*sqlite3.SQLiteConn)
}

// However many have opened a database that was put back before the first of them writes: one new epoch begins, and no number that
// was seen is given again. Each began one.
func TestOneEpochBeginsForAllThatWereOpen(t *testing.T) {
	ctx := context.Background()
	for name, items := range map[string][]Item{"a backup with changes": {item(1, "one")}, "one from before the first": nil} {
		s := newStore(t)
		id := addFeeds(t, s, 1, "c")[0]
		merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, items...))
		const seen = 7
		var renewals int
		var last int64
		behind := func(o *Options) {
			o.Seen = seen
			o.Committed = func(seq int64, renewed bool) {
				last = seq
				if renewed {
					renewals++
				}
			}
		}
		open := []*Store{openStore(t, pathOf(t, s), behind), openStore(t, pathOf(t, s), behind), openStore(t, pathOf(t, s), behind)}
		epochs := map[int64]bool{}
		for _, o := range open {
			if err := o.SetRanked(ctx, "c", true); err != nil {
				t.Fatal(err)
			}
			epoch, err := o.Epoch(ctx)
			if err != nil {
				t.Fatal(err)
			}
			epochs[epoch] = true
		}
		if renewals != 1 || len(epochs) != 1 || last != seen {
			t.Errorf("%s: %d begun, epochs %v, seq %d", name, renewals, epochs, last)
		}
		t1 := t0.Add(time.Hour)
		merge1(t, open[1], t1, success(claimOne(t, open[1], t1, id), t1, item(2, "two")))
		want(t, name, dump(t, s, "SELECT max(seq) FROM changes"), "8")
	}
}

// What README.md tells other programs to do, and what tools do to the database between hours.
func TestOthersUseTheDatabase(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one")))
	db := foreign(t, pathOf(t, s))
	_, err := db.Exec("update feeds set fetched_hour=null, next_fetch_at=null, lease_owner=null, lease_until=null, " +
		"last_fetched_at='2020-01-01T00:00:00Z' where last_fetched_at is not null")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("select count(*) from items").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d %v", n, err)
	}
	if c := claimAt(t, s, t0, id); len(c) != 1 || !strings.HasPrefix(c[0].ETag, `"2026`) {
		t.Errorf("%+v", c)
	}
}
