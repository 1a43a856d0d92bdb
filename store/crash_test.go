package store

import (
	"context"
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
		if _, err := s.ClearLeases(context.Background(), "host"); err != nil {
			t.Fatal(err)
		}
		if err := mergeForCrash(s); err != nil {
			t.Fatal(err)
		}
		want(t, point+": once more", dump(t, s, strings.ReplaceAll(counts, "_token = 1", "_token >= 1")), after)
	}
}
