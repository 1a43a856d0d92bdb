package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killed runs the child that dies at a point, and sees that it did.
func killed(t testing.TB, path, point string) {
	t.Helper()
	cmd := childCommand(t, path, "die", point)
	err := cmd.Run()
	if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("%s: the child was to be killed: %v", point, err)
	}
}

// mergeForCrash is one hour with two feeds: claim, and merge in one transaction.
func mergeForCrash(s *Store) error {
	ctx := context.Background()
	added, err := s.AddFeeds(ctx, []NewFeed{{URL: "https://a.example/"}, {URL: "https://b.example/"}}, t0)
	if err != nil {
		return err
	}
	if err := s.SetRanked(ctx, Uncategorized, true); err != nil {
		return err
	}
	claims, err := s.Claim(ctx, []int64{added[0].ID, added[1].ID}, Lease{owner, "boot", t0.Add(10 * time.Minute)}, dueAt(t0))
	if err != nil {
		return err
	}
	var entries []Entry
	for _, c := range claims {
		entries = append(entries, success(c, t0, item(1, "one"), item(2, "two")))
	}
	_, err = s.Merge(ctx, 1, entries, []Snapshot{{"host", 1, hour, "id"}}, t0)
	return err
}

// Killed at each point, the database is sound and holds all of the transaction or nothing of it.
func TestKilledAtEachPoint(t *testing.T) {
	const counts = `
		SELECT (SELECT count(*) FROM feeds WHERE lease_token = 1),
		       (SELECT count(*) FROM feeds WHERE merged_token = 1 AND lease_owner IS NULL AND etag IS NOT NULL),
		       (SELECT count(*) FROM documents),
		       (SELECT count(*) FROM items),
		       (SELECT count(*) FROM contents),
		       (SELECT count(*) FROM changes),
		       (SELECT count(*) FROM positions),
		       (SELECT count(*) FROM fetches),
		       (SELECT count(*) FROM merged)`
	const before, after = "2|0|0|0|0|0|0|0|0", "2|2|2|4|4|4|4|2|1"
	tests := map[string]string{
		"claim-after-commit":  before,
		"merge-begin":         before,
		"merge-mid":           before,
		"merge-before-commit": before,
		"merge-after-commit":  after,
	}
	for point, state := range tests {
		path := filepath.Join(t.TempDir(), "crawl.db")
		killed(t, path, point)
		s := openStore(t, path)
		want(t, point, dump(t, s, counts), state)
		want(t, point+": integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
		want(t, point+": foreign keys", dump(t, s, "PRAGMA foreign_key_check"), "")
		if err := s.ClearLeases(context.Background(), "host"); err != nil {
			t.Fatal(err)
		}
		if err := mergeForCrash(s); err != nil {
			t.Fatal(err)
		}
		want(t, point+": once more", dump(t, s, strings.ReplaceAll(counts, "_token = 1", "_token >= 1")), after)
	}
}

// churn works hour after hour until it is killed. Each result brings one item that names its token.
func churn(s *Store) error {
	ctx := context.Background()
	if err := s.ClearLeases(ctx, "host"); err != nil {
		return err
	}
	var feeds []NewFeed
	for n := range 30 {
		feeds = append(feeds, NewFeed{URL: fmt.Sprintf("https://%d.example/", n)})
	}
	added, err := s.AddFeeds(ctx, feeds, t0)
	if err != nil {
		return err
	}
	var ids []int64
	for _, a := range added {
		ids = append(ids, a.ID)
	}
	for now := t0; ; now = now.Add(time.Hour) {
		due := dueAt(now)
		due.Force = true
		claims, err := s.Claim(ctx, ids, Lease{owner, "boot", now.Add(time.Minute)}, due)
		if err != nil {
			return err
		}
		var entries []Entry
		for _, c := range claims {
			e := success(c, now, item(int(c.Token), fmt.Sprint("token ", c.Token)))
			e.Result.Feed.ETag, e.Result.Document = fmt.Sprint(c.Token), []byte(fmt.Sprint(c.Token))
			entries = append(entries, e)
		}
		if _, err := s.Merge(ctx, 1, entries, nil, now); err != nil {
			return err
		}
	}
}

// Killed at any moment, also while the database is made: it is sound, and what belongs together is there together.
func TestKilledAtRandomMoments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.db")
	r := rand.New(rand.NewPCG(1, 2))
	const enough = "SELECT count(*) > 30 FROM items"
	worked := func() bool {
		s := openStore(t, path, func(o *Options) { o.Migrate = true })
		defer s.Close()
		return strings.TrimSpace(dump(t, s, enough)) == "1"
	}
	for n := 0; n < 15 || n < 100 && !worked(); n++ { // on a slow machine the first ones die before they have done anything
		cmd := childCommand(t, path, "churn")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+r.IntN(20*(n+1))) * time.Millisecond)
		cmd.Process.Kill()
		if err := cmd.Wait(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatal("the child ended by itself:", err)
		}
	}
	s := openStore(t, path, func(o *Options) { o.Migrate = true })
	want(t, "integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
	want(t, "foreign keys", dump(t, s, "PRAGMA foreign_key_check"), "")
	want(t, "feeds whose parts do not fit", dump(t, s, `
		SELECT f.id, f.etag, f.merged_token, d.item_hashes, (SELECT max(CAST(guid AS INTEGER)) FROM items i WHERE i.feed_id = f.id)
		FROM feeds f
		LEFT JOIN documents d ON d.feed_id = f.id
		WHERE f.merged_token > 0
		  AND (f.etag <> f.merged_token OR CAST(d.item_hashes AS TEXT) <> f.etag
		       OR (SELECT max(CAST(guid AS INTEGER)) FROM items i WHERE i.feed_id = f.id) <> f.merged_token)`), "")
	want(t, "changes", dump(t, s, "SELECT (SELECT count(*) FROM changes) = (SELECT count(*) FROM items)"), "1")
	want(t, "enough items", dump(t, s, enough), "1")
	s.Close()
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

// Processes that open a database for the first time at the same moment all find one that works.
func TestManyFirstProcesses(t *testing.T) {
	for range 3 {
		path := filepath.Join(t.TempDir(), "crawl.db")
		var all []*exec.Cmd
		for range 6 {
			cmd := childCommand(t, path, "die", "never")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			all = append(all, cmd)
		}
		for _, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		s := openStore(t, path)
		want(t, "rows", dump(t, s, "SELECT (SELECT count(*) FROM feeds), (SELECT count(*) FROM items)"), "2|4")
	}
}
