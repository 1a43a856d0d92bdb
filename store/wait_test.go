package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// locked opens a store beside another program that holds the write lock; unlock ends that.
func locked(t *testing.T, change func(*Options)) (s *Store, unlock func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crawl.db")
	openStore(t, path, func(o *Options) { o.Migrate = true }).Close()
	s = openStore(t, path, change)
	other := foreign(t, path)
	tx, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { tx.Rollback() }
}

func TestWaitsForAForeignLock(t *testing.T) {
	s, unlock := locked(t, func(*Options) {})
	time.AfterFunc(time.Second, unlock)
	if err := s.SetRanked(context.Background(), "c", true); err != nil {
		t.Error(err)
	}
	if _, err := s.Categories(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestForeignLockLongerThanBusyWait(t *testing.T) {
	s, unlock := locked(t, func(*Options) {})
	s.patience.wait = 300 * time.Millisecond
	err := s.SetRanked(context.Background(), "c", true)
	if !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Categories(context.Background()); err != nil {
		t.Error("a reader waits for a writer:", err)
	}
	unlock()
	if err := s.SetRanked(context.Background(), "c", true); err != nil {
		t.Error(err)
	}
}

// Stop, and the end of the context, end the wait at the next try: the waits here would last half a minute.
func TestStopEndsTheWait(t *testing.T) {
	var stop atomic.Bool
	s, unlock := locked(t, func(o *Options) { o.Stop = stop.Load })
	defer unlock()
	time.AfterFunc(100*time.Millisecond, func() { stop.Store(true) })
	begin := time.Now()
	if err := s.SetRanked(context.Background(), "c", true); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	stop.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := s.SetRanked(ctx, "c", true); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if waited := time.Since(begin); waited > 15*time.Second {
		t.Errorf("waited %s", waited)
	}
}

// A context that ends while a merge is under way does not end the merge: SQLite would undo all of it, and what follows would
// be committed piece by piece.
func TestMergeUnderWayIsNotCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newStore(t, func(o *Options) {
		o.Point = func(name string) {
			if name == "merge-mid" {
				cancel()
			}
		}
	})
	ids := addFeeds(t, s, 2, "c")
	var entries []Entry
	for _, c := range claimAt(t, s, t0, ids...) {
		entries = append(entries, success(c, t0, item(1, "one")))
	}
	m, err := s.Merge(ctx, 1, entries, nil, t0)
	if err != nil || m.Applied != 2 {
		t.Errorf("%+v %v", m, err)
	}
	if _, err := s.Merge(ctx, 1, entries, nil, t0); !errors.Is(err, context.Canceled) {
		t.Errorf("a merge that begins after the end: %v", err)
	}
}

// The disk fills up in the middle of a merge: nothing of the transaction is kept, the validators least of all, and the same merge
// works when there is space again.
func TestDiskFull(t *testing.T) {
	s := newStore(t)
	ids := addFeeds(t, s, 20, "c")
	var entries []Entry
	for _, c := range claimAt(t, s, t0, ids...) {
		var items []Item
		for n := range 30 {
			items = append(items, item(n, "some title"))
		}
		entries = append(entries, success(c, t0, items...))
	}
	everything := []string{"SELECT * FROM feeds", "SELECT * FROM items", "SELECT * FROM contents", "SELECT * FROM changes",
		"SELECT * FROM documents", "SELECT * FROM fetches", "SELECT * FROM merged"}
	var before []string
	for _, q := range everything {
		before = append(before, dump(t, s, q))
	}
	pages := func(n int64) {
		err := s.withWriter(context.Background(), func(x *tx) error {
			if n == 0 {
				have, err := x.pragma("page_count")
				if err != nil {
					return err
				}
				n = have + 4
			}
			_, err := x.ExecContext(x.ctx, "PRAGMA max_page_count = "+fmt.Sprint(n), nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages(0)
	closed := []Snapshot{{"host", 1, hour, "id"}}
	m, err := s.Merge(context.Background(), 1, entries, closed, t0)
	if !errors.Is(err, ErrFull) || m.Applied != 0 {
		t.Errorf("%+v %v", m, err)
	}
	for i, q := range everything {
		if got := dump(t, s, q); got != before[i] {
			t.Errorf("%s: something was kept:\n%s", q, got)
		}
	}
	pages(1 << 30)
	m, err = s.Merge(context.Background(), 1, entries, closed, t0)
	if err != nil || m.Applied != 20 || m.New != 600 {
		t.Errorf("%+v %v", m, err)
	}
	want(t, "integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
}
