package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// everything that a merge writes, without the ids that depend on the order of merging.
var outcomeOfMerges = []string{
	`SELECT id, url, status, stopped_reason, consecutive_failures, last_error, etag, lease_owner, lease_token, merged_token,
	        last_fetched_at, last_success_at, last_changed_at, next_fetch_at, fetched_hour, key_rule, title FROM feeds ORDER BY id`,
	`SELECT feed_id, key, hash, url, title, published_at, first_seen_at, changed_at, summary, content
	 FROM items LEFT JOIN contents ON item_id = id ORDER BY feed_id, key`,
	`SELECT feed_id, kind, columns, count(*) FROM changes GROUP BY feed_id, kind, columns ORDER BY 1, 2, 3`,
	`SELECT p.hour, i.feed_id, i.key, p.position FROM positions p JOIN items i ON i.id = p.item_id ORDER BY 1, 2, 4`,
	`SELECT feed_id, item_hashes FROM documents ORDER BY 1`,
	`SELECT * FROM fetches ORDER BY 1, 2`,
	`SELECT * FROM merged`,
}

func outcome(t testing.TB, s *Store) string {
	t.Helper()
	var b strings.Builder
	for _, q := range outcomeOfMerges {
		b.WriteString(dump(t, s, q))
		b.WriteString("--\n")
	}
	return b.String()
}

// twoHours makes the results of two hours of three feeds, one of them ranked, none merged yet: those of the first hour are stale.
func twoHours(t testing.TB, s *Store) (first, second []Entry) {
	t.Helper()
	ids := addFeeds(t, s, 2, "plain")
	if err := s.SetRanked(context.Background(), "ranked", true); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, addFeeds(t, s, 1, "ranked")...)
	for _, c := range claimAt(t, s, t0, ids...) {
		first = append(first, success(c, t0, item(1, "one"), item(2, "two")))
	}
	t1 := t0.Add(time.Hour)
	for _, c := range claimAt(t, s, t1, ids...) {
		second = append(second, success(c, t1, item(3, "three"), item(2, "TWO")))
	}
	return first, second
}

// Merging twice, and merging in another order, gives the same rows.
func TestMergeIsIdempotent(t *testing.T) {
	closed := []Snapshot{{"host", 1, hour, "id"}}
	merge := func(t *testing.T, s *Store, parts ...[]Entry) string {
		for _, p := range parts {
			if _, err := s.Merge(context.Background(), 7, p, closed, t0.Add(2*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		return outcome(t, s)
	}
	reversed := func(e []Entry) []Entry {
		r := make([]Entry, 0, len(e))
		for i := range e {
			r = append(r, e[len(e)-1-i])
		}
		return r
	}
	s := newStore(t)
	_, second := twoHours(t, s)
	once := merge(t, s, second)
	if !strings.Contains(once, "TWO") || strings.Contains(once, "one") {
		t.Fatal(once)
	}
	want(t, "twice", merge(t, s, second), once)
	other := newStore(t)
	_, second = twoHours(t, other)
	want(t, "the other way round", merge(t, other, reversed(second)), once)
	other = newStore(t)
	_, second = twoHours(t, other)
	want(t, "in two parts, each twice, one of them within one call",
		merge(t, other, second[1:], append(second[:1:1], second[:1]...), second[1:]), once)
}

// A late result may add items that are not stored. It touches nothing else, whether it comes before or after the newer one.
func TestLateResult(t *testing.T) {
	s := newStore(t)
	first, second := twoHours(t, s)
	now := t0.Add(2 * time.Hour)
	m := merge1(t, s, now, second...)
	if m.Applied != 3 || m.New != 6 {
		t.Fatalf("%+v", m)
	}
	feeds := dump(t, s, outcomeOfMerges[0])
	m = merge1(t, s, now, first...)
	if m.Applied != 0 || m.New != 3 || m.Updated != 0 {
		t.Errorf("%+v", m)
	}
	want(t, "feeds", dump(t, s, outcomeOfMerges[0]), feeds)
	want(t, "titles", dump(t, s, "SELECT title, count(*) FROM items GROUP BY title ORDER BY 1"), "TWO|3\none|3\nthree|3")
	other := newStore(t)
	first, second = twoHours(t, other)
	merge1(t, other, now, first...)
	merge1(t, other, now, second...)
	want(t, "feeds", dump(t, other, outcomeOfMerges[0]), feeds)
	want(t, "titles", dump(t, other, "SELECT title, count(*) FROM items GROUP BY title ORDER BY 1"), "TWO|3\none|3\nthree|3")
}

func TestFencing(t *testing.T) {
	ctx := context.Background()
	moved := "https://moved.example/"
	tests := []struct {
		name  string
		do    func(s *Store, id int64) error
		items int // that the late result still adds
	}{
		{"stopped by hand", func(s *Store, id int64) error { return s.Stop(ctx, []int64{id}, "enough", t0) }, 1},
		{"resumed", func(s *Store, id int64) error {
			if err := s.Stop(ctx, []int64{id}, "enough", t0); err != nil {
				return err
			}
			return s.Resume(ctx, []int64{id})
		}, 1},
		{"another URL", func(s *Store, id int64) error { return s.EditFeed(ctx, id, FeedEdit{URL: &moved}) }, 0},
		{"another URL, by SQL", func(s *Store, id int64) error {
			return s.update(ctx, func(x *tx) error { return x.run("UPDATE feeds SET url = 'https://elsewhere.example/'") })
		}, 0},
		{"removed", func(s *Store, id int64) error { return s.Remove(ctx, []int64{id}, t0) }, 0},
	}
	for _, test := range tests {
		s := newStore(t)
		id := addFeeds(t, s, 1, "c")[0]
		e := success(claimOne(t, s, t0, id), t0, item(1, "one"))
		if err := test.do(s, id); err != nil {
			t.Fatal(err)
		}
		before := dump(t, s, "SELECT id, url, status, etag, lease_token, merged_token, next_fetch_at, lease_owner FROM feeds")
		m := merge1(t, s, t0, e)
		if m.Applied != 0 || m.New != test.items {
			t.Errorf("%s: %+v", test.name, m)
		}
		want(t, test.name, dump(t, s, "SELECT id, url, status, etag, lease_token, merged_token, next_fetch_at, lease_owner FROM feeds"), before)
	}
}

// Deferred and left feeds have no outcome: nothing is applied.
func TestNoOutcome(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	e := success(claimOne(t, s, t0, id), t0, item(1, "one"))
	before := outcome(t, s)
	for _, o := range []string{Deferred, Left} {
		e.Result.Outcome = o
		if m := merge1(t, s, t0, e); m.Applied+m.New != 0 {
			t.Errorf("%s: %+v", o, m)
		}
	}
	want(t, "rows", outcome(t, s), before)
}

// An unchanged feed costs its own row and nothing else; items that are offered again unchanged cost nothing.
func TestNothingIsWrittenForWhatIsKnown(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one"), item(2, "two")))
	rows := func() string {
		return dump(t, s, "SELECT id, key, seq, changed_at, title FROM items") + dump(t, s, "SELECT * FROM contents") +
			dump(t, s, "SELECT * FROM changes")
	}
	before := rows()
	t1 := t0.Add(time.Hour)
	again := item(2, "two")
	again.Hash = 99 // another version of the reader
	m := merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, item(1, "one"), again))
	if m.New+m.Updated != 0 || m.Applied != 1 {
		t.Errorf("%+v", m)
	}
	want(t, "rows", rows(), before)
	want(t, "hash", dump(t, s, "SELECT hash FROM items WHERE title = 'two'"), "99")
	want(t, "last change", dump(t, s, "SELECT last_changed_at FROM feeds"), "2026-11-30T10:30:00Z")
}

// Only the columns that differ are written and named.
func TestChangedColumns(t *testing.T) {
	base := Item{
		Key: "g:1", GUID: "1", URL: "https://x.example/1", Title: "t", Author: "a", Summary: "s", Content: "c",
		CommentsURL: "https://x.example/c", ImageURL: "https://x.example/i", Language: "de", Duration: 5,
		PublishedAt: t0, UpdatedAt: t0, Categories: []string{"k"}, Enclosures: []Enclosure{{URL: "https://x.example/e", Length: 1}},
		Hash: 1,
	}
	tests := map[string]struct {
		change  func(*Item)
		columns string
	}{
		"title":      {func(i *Item) { i.Title = "T" }, `["title"]`},
		"no title":   {func(i *Item) { i.Title = "" }, `["title"]`},
		"guid":       {func(i *Item) { i.GUID = "" }, `["guid"]`},
		"url":        {func(i *Item) { i.URL = "https://x.example/2" }, `["url"]`},
		"author":     {func(i *Item) { i.Author = "b" }, `["author"]`},
		"text":       {func(i *Item) { i.Summary, i.Content = "S", "C" }, `["summary","content"]`},
		"no text":    {func(i *Item) { i.Summary, i.Content = "", "" }, `["summary","content"]`},
		"dates":      {func(i *Item) { i.PublishedAt, i.UpdatedAt = time.Time{}, t0.Add(time.Hour) }, `["published_at","updated_at"]`},
		"links":      {func(i *Item) { i.CommentsURL, i.ImageURL = "", "https://x.example/j" }, `["comments_url","image_url"]`},
		"language":   {func(i *Item) { i.Language, i.Duration = "en", 0 }, `["language","duration"]`},
		"categories": {func(i *Item) { i.Categories = nil }, `["categories"]`},
		"enclosure":  {func(i *Item) { i.Enclosures = []Enclosure{{URL: "https://x.example/e", Length: 2}} }, `["enclosures"]`},
		"everything": {func(i *Item) { *i = Item{Key: "g:1", Hash: 2} },
			`["guid","url","title","author","published_at","updated_at","comments_url","image_url","language","duration","categories","enclosures","summary","content"]`},
	}
	for name, test := range tests {
		s := newStore(t)
		id := addFeeds(t, s, 1, "c")[0]
		merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, base))
		changed := base
		changed.Hash = 2
		test.change(&changed)
		t1 := t0.Add(time.Hour)
		if m := merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, changed)); m.Updated != 1 {
			t.Errorf("%s: %+v", name, m)
		}
		want(t, name, dump(t, s, "SELECT columns FROM changes WHERE kind = 'updated'"), test.columns)
		for row, err := range s.Items(context.Background(), ItemFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			changed.PublishedAt, changed.UpdatedAt = row.PublishedAt, row.UpdatedAt
			if !sameItem(storedItem(t, s, row.ID), changed) || row.Title != changed.Title || row.Content != changed.Content || row.Seq != 2 || !row.ChangedAt.Equal(t1) || !row.FirstSeenAt.Equal(t0) {
				t.Errorf("%s: %+v, want %+v", name, row, changed)
			}
		}
	}
}

// A feed whose data cannot be stored is rolled back alone, to its savepoint, and counts as its own failure; the others are stored.
func TestDataThatCannotBeStored(t *testing.T) {
	for _, raise := range []string{"ABORT", "FAIL", "ROLLBACK"} { // ROLLBACK takes the whole transaction with it
		t.Run(raise, func(t *testing.T) {
			s := newStore(t, func(o *Options) { o.Fail = testFail(2) })
			trigger(t, s, raise)
			ids := addFeeds(t, s, 3, "c")
			if err := s.update(context.Background(), func(x *tx) error { return x.run("UPDATE feeds SET schedule = 'its schedule' WHERE id = 2") }); err != nil {
				t.Fatal(err)
			}
			for n, now := range []time.Time{t0, t0.Add(10 * time.Minute), t0.Add(70 * time.Minute)} {
				due := dueAt(now)
				due.Force = true
				claims, err := s.Claim(context.Background(), ids, Lease{owner, "boot", now.Add(time.Minute)}, due)
				if err != nil || len(claims) != 3 {
					t.Fatal(claims, err)
				}
				entries := []Entry{
					success(claims[0], now, item(n, "good")),
					success(claims[1], now, item(100+n, "good"), item(200+n, "poison")),
					success(claims[2], now, item(n, "good")),
				}
				m, err := s.Merge(context.Background(), 1, entries, []Snapshot{{"host", 1, hour, "id"}}, now)
				if err != nil || m.Applied != 3 || m.New != 2 || len(m.Failed) != 1 || m.Failed[0].FeedID != ids[1] {
					t.Fatalf("%+v %v", m, err)
				}
				if (m.Stopped == 1) != (n == 2) {
					t.Errorf("round %d: %+v", n, m)
				}
			}
			want(t, "items", dump(t, s, "SELECT feed_id, count(*) FROM items GROUP BY feed_id"), "1|3\n3|3")
			want(t, "changes", dump(t, s, "SELECT min(seq), max(seq), count(*) FROM changes"), "1|6|6")
			want(t, "feed", dump(t, s, `
				SELECT status, consecutive_failures, last_error_kind, etag, merged_token = lease_token, lease_owner, next_fetch_at,
				       stopped_reason LIKE '2 failures of feed 2 (its schedule): cannot be stored: %poison', last_error LIKE '%crawl.db%', (SELECT count(*) FROM documents WHERE feed_id = id)
				FROM feeds WHERE id = 2`),
				"stopped|2|store|<nil>|1|<nil>|2026-11-30T13:40:00Z|1|0|0")
			want(t, "fetches", dump(t, s, "SELECT outcome, count(*) FROM fetches GROUP BY outcome"), "changed|2\nfailed|1")
			want(t, "merged", dump(t, s, "SELECT count(*) FROM merged"), "1")
		})
	}
}

func trigger(t testing.TB, s *Store, raise string) {
	t.Helper()
	err := s.update(context.Background(), func(x *tx) error {
		_, err := x.ExecContext(x.ctx, `CREATE TRIGGER poison BEFORE INSERT ON items WHEN new.title = 'poison'
			BEGIN SELECT RAISE(`+raise+`, 'poison'); END`, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An error that is of the database and not of a feed fails the merge, and no feed is blamed.
func TestErrorOfTheDatabaseIsNoFeedsFailure(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	e := success(claimOne(t, s, t0, id), t0, item(1, "one"))
	if err := s.update(context.Background(), func(x *tx) error { return x.run("ALTER TABLE contents RENAME TO gone") }); err != nil {
		t.Fatal(err)
	}
	m, err := s.Merge(context.Background(), 1, []Entry{e}, nil, t0)
	if err == nil || len(m.Failed) != 0 {
		t.Errorf("%+v %v", m, err)
	}
	want(t, "feed", dump(t, s, "SELECT consecutive_failures, merged_token FROM feeds"), "0|0")
}

// Hostile bytes: they are stored as they would be after a snapshot, or refused as the feed's own failure.
func TestAbsurdData(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	it := item(1, "a\x00b\xff\xfec'\"")
	it.Key, it.GUID = "k\x00\xff", "\xff"
	it.PublishedAt = time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC)
	it.UpdatedAt = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)
	it.Content = strings.Repeat("\xff", 10)
	twice := it
	twice.Title = "the same key again"
	empty := Item{Hash: 5}
	if m := merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, it, twice, empty)); m.New != 2 || len(m.Failed) != 0 {
		t.Fatalf("%+v", m)
	}
	want(t, "item", dump(t, s, "SELECT hex(key), hex(title), published_at, updated_at, content FROM items JOIN contents ON item_id = id"),
		"6B00EFBFBD|610062EFBFBDEFBFBD632722|<nil>|<nil>|"+strings.Repeat("\ufffd", 10))
	t1 := t0.Add(time.Hour)
	it.Hash++
	if m := merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, it)); m.New+m.Updated != 0 {
		t.Errorf("%+v", m)
	}
	t2 := t1.Add(time.Hour)
	e := success(claimOne(t, s, t2, id), t2)
	e.Result.Feed.Status = "absurd"
	if m := merge1(t, s, t2, e); len(m.Failed) != 1 || !isData(m.Failed[0].Err) {
		t.Errorf("%+v", m)
	}
}

// SQLite's limit on the length of a text is an error of the feed's data.
func TestTooBig(t *testing.T) {
	s := newStore(t)
	err := s.withWriter(context.Background(), func(x *tx) error {
		x.SetLimit(0, 100_000) // SQLITE_LIMIT_LENGTH
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := addFeeds(t, s, 2, "c")
	claims := claimAt(t, s, t0, ids...)
	big := item(1, "big")
	big.Content = strings.Repeat("x", 200_000)
	m := merge1(t, s, t0, success(claims[0], t0, big), success(claims[1], t0, item(2, "small")))
	if m.New != 1 || len(m.Failed) != 1 || m.Failed[0].FeedID != ids[0] {
		t.Errorf("%+v", m)
	}
}

func TestSnapshotsAreRecorded(t *testing.T) {
	s := newStore(t)
	ctx := context.Background()
	if _, err := s.Merge(ctx, 0, nil, []Snapshot{{"a", 1, hour, "x"}, {"a", 2, hour, "y"}, {"b", 1, hour, "z"}}, t0); err != nil {
		t.Fatal(err)
	}
	later := hour.Add(time.Hour)
	if _, err := s.Merge(ctx, 0, nil, []Snapshot{{"a", 1, later, "w"}}, t0); err != nil {
		t.Fatal(err)
	}
	merged, err := s.MergedSnapshots(ctx, "a")
	if err != nil || len(merged) != 2 || merged[1] != (Snapshot{"a", 1, later, "w"}) || merged[2] != (Snapshot{"a", 2, hour, "y"}) {
		t.Errorf("%+v %v", merged, err)
	}
}

// run 0 and unchanged feeds leave nothing in fetches.
func TestFetchesAreRecorded(t *testing.T) {
	s := newStore(t)
	ids := addFeeds(t, s, 3, "c")
	claims := claimAt(t, s, t0, ids...)
	failed := success(claims[2], t0)
	failed.Result.Outcome, failed.Result.Error, failed.Result.Status, failed.Result.Feed.LastError = Failed, "boom", 500, "boom"
	merge1(t, s, t0, success(claims[0], t0, item(1, "one")), notModified(claims[1], t0), failed)
	want(t, "fetches", dump(t, s, "SELECT * FROM fetches"), `
1|7|2026-11-30T10:30:00Z|changed|200|1000|20|1|0|<nil>
3|7|2026-11-30T10:30:00Z|failed|500|1000|20|0|0|boom`)
	t1 := t0.Add(time.Hour)
	e := success(claimOne(t, s, t1, ids[0]), t1)
	if _, err := s.Merge(context.Background(), 0, []Entry{e}, nil, t1); err != nil {
		t.Fatal(err)
	}
	want(t, "fetches", dump(t, s, "SELECT count(*) FROM fetches"), "2")
}

func TestRolledBackBehindOurBack(t *testing.T) {
	s := newStore(t)
	err := s.update(context.Background(), func(x *tx) error {
		_, err := x.ExecContext(x.ctx, "ROLLBACK", nil)
		return err
	})
	if !errors.Is(err, errRolledBack) {
		t.Errorf("got %v", err)
	}
}
