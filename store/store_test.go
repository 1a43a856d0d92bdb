package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Times of the tests. The clock is always passed in.
var (
	t0   = time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	hour = t0
)

const owner = "host/1"

// newStore makes a database in a directory of the test.
func newStore(t testing.TB, change ...func(*Options)) *Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "crawl.db"), append(change, func(o *Options) { o.Migrate = true })...)
}

func openStore(t testing.TB, path string, change ...func(*Options)) *Store {
	t.Helper()
	o := Options{Key: testKey, Fail: testFail(5)}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// testKey makes keys as a reader of feeds would: rule 1 by guid, rule 2 by URL.
func testKey(rule int, guid, url, title, text string) string {
	if rule == 1 {
		return "g:" + guid
	}
	return "u:" + withoutScheme(url)
}

// testFail counts a failure as a run would: the next fetch is as many hours away as there were failures, and the limit stops the feed.
func testFail(limit int) func(feed int64, hour, at time.Time, f *FeedState) {
	return func(feed int64, hour, at time.Time, f *FeedState) {
		if !f.FailedHour.Equal(hour) {
			f.ConsecutiveFailures++
		}
		f.FailedHour, f.NextFetchAt = hour, at.Add(time.Duration(f.ConsecutiveFailures)*time.Hour)
		if f.ConsecutiveFailures >= limit {
			f.Status, f.StoppedReason = "stopped", fmt.Sprintf("%d failures of feed %d (%s): %s", f.ConsecutiveFailures, feed, f.Schedule, f.LastError)
		}
	}
}

func addFeeds(t testing.TB, s *Store, n int, category string) []int64 {
	t.Helper()
	var feeds []NewFeed
	for i := range n {
		feeds = append(feeds, NewFeed{URL: fmt.Sprintf("https://%d.example/%s/feed", i, category), Category: category})
	}
	added, err := s.AddFeeds(context.Background(), feeds, t0)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, n)
	for i, a := range added {
		if !a.New {
			t.Fatalf("feed %d was there", i)
		}
		ids[i] = a.ID
	}
	return ids
}

func dueAt(now time.Time) Due {
	return Due{Hour: hourOf(now), Now: now, Grace: 5 * time.Minute, Host: "host", Boot: "boot", MaxLease: 10 * time.Minute}
}

func hourOf(now time.Time) time.Time {
	return now.Add(-30 * time.Minute).Truncate(time.Hour).Add(30 * time.Minute)
}

func claimAt(t testing.TB, s *Store, now time.Time, ids ...int64) []Claim {
	t.Helper()
	claims, err := s.Claim(context.Background(), ids, Lease{owner, "boot", now.Add(10 * time.Minute)}, dueAt(now))
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// claimOne claims a feed, which must be free and due.
func claimOne(t testing.TB, s *Store, now time.Time, id int64) Claim {
	t.Helper()
	claims := claimAt(t, s, now, id)
	if len(claims) != 1 {
		t.Fatalf("claimed %d feeds, want 1", len(claims))
	}
	return claims[0]
}

// success is what a good answer at a time means for a claimed feed.
func success(c Claim, at time.Time, items ...Item) Entry {
	keys := make([]string, len(items))
	for i, it := range items {
		keys[i] = it.Key
	}
	return Entry{FeedID: c.ID, URL: c.URL, Token: c.Token, Result: Result{
		Outcome:  Changed,
		At:       at,
		Hour:     hourOf(at),
		Document: []byte("hashes at " + at.Format(time.RFC3339)),
		Items:    items,
		Ranked:   c.Ranked,
		Keys:     keys,
		Status:   200,
		Bytes:    1000,
		Millis:   20,
		Feed: FeedState{
			URL:           c.URL,
			Title:         "Title",
			Status:        "active",
			ETag:          `"` + at.Format(time.RFC3339) + `"`,
			LastFetchedAt: at,
			LastSuccessAt: at,
			LastChangedAt: c.LastChangedAt,
			NextFetchAt:   at.Add(55 * time.Minute),
			FetchedHour:   hourOf(at),
			KeyRule:       1,
		},
	}}
}

// notModified is a 304.
func notModified(c Claim, at time.Time) Entry {
	e := success(c, at)
	e.Result.Outcome, e.Result.Document, e.Result.Status, e.Result.Keys = Unchanged, nil, 304, nil
	e.Result.Feed.ETag = c.ETag
	return e
}

func item(n int, title string) Item {
	return Item{
		Key:         fmt.Sprintf("g:%d", n),
		GUID:        fmt.Sprint(n),
		URL:         fmt.Sprintf("https://example.org/%d", n),
		Title:       title,
		Content:     "text of " + title,
		PublishedAt: t0.Add(-time.Duration(n) * time.Hour),
		Hash:        int64(len(title))<<32 + int64(n) + int64(title[len(title)-1])<<16,
	}
}

func merge1(t testing.TB, s *Store, now time.Time, entries ...Entry) Merged {
	t.Helper()
	m, err := s.Merge(context.Background(), 7, entries, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// dump returns every row of a query as text.
func dump(t testing.TB, s *Store, query string) string {
	t.Helper()
	var b strings.Builder
	err := s.view(context.Background(), func(t *tx) error {
		return t.query(query, func(r row) error {
			for i := range r {
				if i > 0 {
					b.WriteByte('|')
				}
				fmt.Fprint(&b, r[i])
			}
			b.WriteByte('\n')
			return nil
		})
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return b.String()
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
	}
}

func TestLifeOfAFeed(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "News")[0]
	m := merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one"), item(2, "two")))
	if m.Applied != 1 || m.New != 2 {
		t.Fatalf("%+v", m)
	}
	t1 := t0.Add(time.Hour)
	changed := item(2, "TWO!")
	m = merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, changed, item(3, "three")))
	if m.New != 1 || m.Updated != 1 {
		t.Fatalf("%+v", m)
	}
	want(t, "items", dump(t, s, "SELECT key, title, content, first_seen_at, changed_at FROM items JOIN contents ON item_id = id ORDER BY key"), `
g:1|one|text of one|2026-11-30T10:30:00Z|2026-11-30T10:30:00Z
g:2|TWO!|text of TWO!|2026-11-30T10:30:00Z|2026-11-30T11:30:00Z
g:3|three|text of three|2026-11-30T11:30:00Z|2026-11-30T11:30:00Z`)
	want(t, "changes", dump(t, s, "SELECT seq, item_id, kind, columns FROM changes"), `
1|1|new|[]
2|2|new|[]
3|2|updated|["title","content"]
4|3|new|[]`)
	t2 := t1.Add(time.Hour)
	c := claimOne(t, s, t2, id)
	if c.ETag != `"2026-11-30T11:30:00Z"` || c.KeyRule != 1 {
		t.Errorf("claim %+v", c)
	}
	m = merge1(t, s, t2, notModified(c, t2))
	if m.Applied != 1 || m.New+m.Updated != 0 {
		t.Fatalf("%+v", m)
	}
	f, err := s.FindFeed(context.Background(), c.URL)
	if err != nil || f.Items != 3 || !f.LastSuccessAt.Equal(t2) {
		t.Errorf("%+v %v", f, err)
	}
	want(t, "last change", dump(t, s, "SELECT last_changed_at FROM feeds"), "2026-11-30T11:30:00Z")
}

// All statements of a reading see one state: a feed that is removed between two of them is there, or it is not.
func TestReadingIsOneTransaction(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	addFeeds(t, s, 1, "c")
	err := s.view(ctx, func(x *tx) error {
		for range 2 {
			n, err := x.one("SELECT count(*) FROM feeds")
			if err != nil || n != 1 {
				t.Errorf("%d feeds, %v", n, err)
			}
			if err := s.Remove(ctx, []int64{1}, t0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "afterwards", dump(t, s, "SELECT count(*) FROM feeds"), "0")
	want(t, "after an error", fmt.Sprint(s.view(ctx, func(x *tx) error { return errStop }), s.view(ctx, func(*tx) error { return nil })), "stop <nil>")
}

// storedItem reads an item whole.
func storedItem(t testing.TB, s *Store, id int64) (it Item) {
	t.Helper()
	err := s.view(context.Background(), func(x *tx) error {
		return x.query(`
			SELECT key, guid, url, title, author, summary, content, comments_url, image_url, language, duration, published_at, updated_at, hash,
			       categories, enclosures
			FROM items LEFT JOIN contents ON item_id = id WHERE id = ?`,
			func(r row) error {
				it = Item{
					r.text(0), r.text(1), r.text(2), r.text(3), r.text(4), r.text(5), r.text(6), r.text(7), r.text(8), r.text(9), int(r.int(10)),
					r.time(11), r.time(12), nil, nil, r.int(13),
				}
				return errors.Join(r.json(14, &it.Categories), r.json(15, &it.Enclosures))
			}, id)
	})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func sameItem(a, b Item) bool {
	return fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

// newStoreFast is newStore on a copy of a database that was made once.
func newStoreFast(t testing.TB) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crawl.db")
	b, err := template()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return openStore(t, path)
}

// template is the file of an empty database.
var template = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "crawl-store")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "crawl.db")
	s, err := Open(context.Background(), path, Options{Migrate: true})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func pathOf(t testing.TB, s *Store) string {
	t.Helper()
	var path string
	err := s.withWriter(context.Background(), func(x *tx) error {
		path = x.GetFilename("")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func parseID(s string) int64 {
	id, _ := strconv.ParseInt(s, 10, 64)
	return id
}

func text1(v any) string { return fmt.Sprintf("%+v", v) }
