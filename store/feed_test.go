package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAddFeeds(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	added, err := s.AddFeeds(ctx, []NewFeed{
		{URL: "https://a.example/", Title: "mine", SiteURL: "https://a.example/site", Category: "News"},
		{URL: "https://b.example/", Settings: FeedSettings{User: "u"}},
		{URL: "https://a.example/", Category: "Other"},
	}, t0)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []Added{{1, true, "News"}, {2, true, Uncategorized}, {1, false, "News"}}
	if !slices.Equal(added, wanted) {
		t.Errorf("%+v", added)
	}
	want(t, "categories", dump(t, s, "SELECT name FROM categories ORDER BY id"), "News\nUncategorized")
	url := "https://c.example/"
	if err := s.EditFeed(ctx, 1, FeedEdit{URL: &url}); err != nil {
		t.Fatal(err)
	}
	added, err = s.AddFeeds(ctx, []NewFeed{{URL: "https://a.example/"}, {URL: url}}, t0) // a former and a present URL
	if err != nil || !slices.Equal(added, []Added{{1, false, "News"}, {1, false, "News"}}) {
		t.Errorf("%+v %v", added, err)
	}
	f, err := s.FindFeed(ctx, "2")
	if err != nil || f.Settings.User != "u" || f.Category != Uncategorized || f.Status != "active" || !f.NextFetchAt.IsZero() {
		t.Errorf("%+v %v", f, err)
	}
}

func TestFeedsAndFilters(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	addFeeds(t, s, 3, "b")
	addFeeds(t, s, 2, "a")
	set(t, s, "own_title = 'mine', title = 'its own', consecutive_failures = 2")
	if err := s.Stop(ctx, []int64{2}, "enough", t0); err != nil {
		t.Fatal(err)
	}
	merge1(t, s, t0, success(claimOne(t, s, t0, 4), t0, item(1, "one"), item(2, "two")))
	tests := []struct {
		f   Filter
		ids []int64
	}{
		{Filter{}, []int64{4, 5, 1, 2, 3}},
		{Filter{Category: "b"}, []int64{1, 2, 3}},
		{Filter{Category: "nothing"}, nil},
		{Filter{Stopped: true}, []int64{2}},
		{Filter{Failing: true}, []int64{1}},
		{Filter{Stopped: true, Failing: true}, []int64{1, 2}},
		{Filter{IDs: []int64{5, 1}}, []int64{5, 1}},
		{Filter{IDs: []int64{}}, nil},
	}
	for _, test := range tests {
		feeds, err := s.Feeds(ctx, test.f)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, f := range feeds {
			ids = append(ids, f.ID)
			if f.ID == 1 && f.Title != "mine" || f.ID == 4 && (f.Title != "Title" || f.Items != 2) || f.ID == 2 && (f.StoppedReason != "enough") {
				t.Errorf("%+v", f)
			}
		}
		if !slices.Equal(ids, test.ids) {
			t.Errorf("%+v: %v", test.f, ids)
		}
	}
	want(t, "stopped", dump(t, s, "SELECT stopped_at FROM feeds WHERE id = 2"), "2026-11-30T10:30:00Z")
}

func TestFindFeed(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	addFeeds(t, s, 3, "c")
	url := "https://new.example/"
	if err := s.EditFeed(ctx, 2, FeedEdit{URL: &url}); err != nil {
		t.Fatal(err)
	}
	for ref, id := range map[string]int64{"3": 3, "https://0.example/c/feed": 1, url: 2, "https://1.example/c/feed": 2} {
		if f, err := s.FindFeed(ctx, ref); err != nil || f.ID != id {
			t.Errorf("%s: %+v %v", ref, f, err)
		}
	}
	for ref, near := range map[string]string{"https://0.exmaple/c/feed": "https://0.example/c/feed", "77": "", "http://elsewhere.example.org/": ""} {
		_, err := s.FindFeed(ctx, ref)
		var e *NotFoundError
		if !errors.As(err, &e) || !errors.Is(err, ErrNotFound) || e.Nearest != near || e.Name != ref || e.What != "feed" {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// become changes a feed's settings into others.
func become(to FeedSettings) func(*FeedSettings) error {
	return func(f *FeedSettings) error {
		*f = to
		return nil
	}
}

func TestEditFeed(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	ids := addFeeds(t, s, 2, "c")
	merge1(t, s, t0, success(claimOne(t, s, t0, ids[0]), t0, item(1, "one")))
	late := claimOne(t, s, t0.Add(time.Hour), ids[0])
	const state = `SELECT url, etag, lease_owner, lease_token, next_fetch_at, (SELECT count(*) FROM documents WHERE feed_id = id),
		(SELECT count(*) FROM items), category_id, own_title, settings FROM feeds WHERE id = 1`
	same := late.URL
	if err := s.EditFeed(ctx, ids[0], FeedEdit{URL: &same}); err != nil {
		t.Error(err)
	}
	want(t, "same URL", dump(t, s, state), late.URL+`|"2026-11-30T10:30:00Z"|host/1|2|2026-11-30T11:25:00Z|1|1|1|<nil>|<nil>`)
	taken := "https://1.example/c/feed"
	if err := s.EditFeed(ctx, ids[0], FeedEdit{URL: &taken}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	url, title, category, settings := "https://new.example/", "mine", "other", FeedSettings{Proxy: "http://p:1"}
	if err := s.EditFeed(ctx, ids[0], FeedEdit{&url, &title, &category, become(settings), true}); err != nil {
		t.Error(err)
	}
	want(t, "everything", dump(t, s, state), `https://new.example/|<nil>|<nil>|3|<nil>|0|1|2|mine|{"proxy":"http://p:1"}`)
	set(t, s, "next_fetch_at = '2026-11-30T11:25:00Z'")
	if err := s.EditFeed(ctx, ids[0], FeedEdit{Category: &category, Title: new(string), Settings: become(FeedSettings{})}); err != nil {
		t.Error(err)
	}
	want(t, "cleared", dump(t, s, state), `https://new.example/|<nil>|<nil>|3|2026-11-30T11:25:00Z|0|1|2|<nil>|<nil>`)
	if err := s.EditFeed(ctx, 99, FeedEdit{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestStopAndResume(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	ids := addFeeds(t, s, 3, "c")
	merge1(t, s, t0, success(claimOne(t, s, t0, 1), t0))
	set(t, s, "consecutive_failures = 4, failed_hour = '2026-11-30T10:30:00Z'")
	if err := s.Stop(ctx, ids[:2], "enough", t0); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(ctx, ids[:1], "another reason", t0.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	const state = "SELECT status, stopped_reason, stopped_at, consecutive_failures, failed_hour, next_fetch_at, lease_token FROM feeds"
	want(t, "stopped", dump(t, s, state), `
stopped|enough|2026-11-30T10:30:00Z|4|2026-11-30T10:30:00Z|2026-11-30T11:25:00Z|2
stopped|enough|2026-11-30T10:30:00Z|0|<nil>|<nil>|1
active|<nil>|<nil>|0|<nil>|<nil>|0`)
	if err := s.Resume(ctx, ids); err != nil {
		t.Error(err)
	}
	want(t, "resumed", dump(t, s, state), `
active|<nil>|<nil>|0|<nil>|<nil>|3
active|<nil>|<nil>|0|<nil>|<nil>|2
active|<nil>|<nil>|0|<nil>|<nil>|0`)
	if err := s.Stop(ctx, ids[:1], "gone", t0); err != nil {
		t.Fatal(err)
	}
	url := "https://new.example/"
	if err := s.EditFeed(ctx, ids[0], FeedEdit{URL: &url}); err != nil {
		t.Error(err)
	}
	const moved = "SELECT url, status, stopped_reason, etag FROM feeds WHERE id = 1"
	want(t, "another URL", dump(t, s, moved), "https://new.example/|stopped|gone|<nil>")
	if err := s.EditFeed(ctx, ids[0], FeedEdit{Resume: true}); err != nil {
		t.Error(err)
	}
	want(t, "resumed by an edit", dump(t, s, moved), "https://new.example/|active|<nil>|<nil>")
}

// An edit that cannot be made leaves everything as it was, whichever part of it cannot.
func TestEditIsWholeOrNothing(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	ids := addFeeds(t, s, 2, "c")
	if err := s.Stop(ctx, ids, "enough", t0); err != nil {
		t.Fatal(err)
	}
	const rows = "SELECT url, own_title, category_id, settings, status, lease_token FROM feeds"
	before := dump(t, s, rows)
	taken, free, title, category := "https://1.example/c/feed", "https://new.example/", "mine", "other"
	if err := s.EditFeed(ctx, 1, FeedEdit{&taken, &title, &category, become(FeedSettings{User: "u"}), true}); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	no := errors.New("no")
	if err := s.EditFeed(ctx, 1, FeedEdit{&free, &title, &category, func(*FeedSettings) error { return no }, true}); err != no {
		t.Errorf("got %v", err)
	}
	want(t, "rows", dump(t, s, rows), before)
}

// Two people set different settings of one feed at once: both stay, for each edit begins with what the other has left.
func TestEditsAtOnce(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	addFeeds(t, s, 1, "c")
	other := openStore(t, pathOf(t, s))
	second := make(chan error)
	err := s.EditFeed(ctx, 1, FeedEdit{Settings: func(f *FeedSettings) error {
		go func() {
			second <- other.EditFeed(ctx, 1, FeedEdit{Settings: func(f *FeedSettings) error { f.UserAgent = "b"; return nil }})
		}()
		time.Sleep(100 * time.Millisecond) // the other one waits by now
		f.User = "a"
		return nil
	}})
	if err := errors.Join(err, <-second); err != nil {
		t.Fatal(err)
	}
	want(t, "settings", dump(t, s, "SELECT settings FROM feeds"), `{"user":"a","user_agent":"b"}`)
}

// A new address begins anew: a feed that had failed four times was stopped by the first hiccup of the right one.
func TestAnotherURLForgetsTheFailuresOfTheOld(t *testing.T) {
	const remembered = `SELECT etag, last_modified, validators_url, body_hash, interval_seconds, redirect_url, redirect_seen, redirect_since,
		consecutive_failures, failed_hour, last_error, last_error_kind, last_error_at, last_warning, schedule, retry_after_until, next_fetch_at FROM feeds`
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	added := dump(t, s, remembered)
	e := success(claimOne(t, s, t0, id), t0)
	e.Result.Outcome, e.Result.Feed = Failed, FeedState{
		URL: e.URL, Status: "active", ConsecutiveFailures: 4, FailedHour: hour, LastError: "e", LastErrorKind: "dns", LastErrorAt: t0, LastWarning: "w",
		ETag: "e", LastModified: "m", ValidatorsURL: "v", BodyHash: 1, Interval: time.Hour, RedirectURL: "r", RedirectSeen: 1, RedirectSince: t0,
		Schedule: "s", RetryAfterUntil: t0, NextFetchAt: t0.Add(time.Hour),
	}
	merge1(t, s, t0, e)
	url := "https://right.example/"
	if err := s.EditFeed(context.Background(), id, FeedEdit{URL: &url}); err != nil {
		t.Fatal(err)
	}
	want(t, "what is remembered", dump(t, s, remembered), added)
}

// Removing a feed removes all that belongs to it; each item's removal is a change, and its id is never used again.
func TestRemove(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	if err := s.SetRanked(ctx, "c", true); err != nil {
		t.Fatal(err)
	}
	ids := addFeeds(t, s, 2, "c")
	claims := claimAt(t, s, t0, ids...)
	merge1(t, s, t0, success(claims[0], t0, item(1, "one"), item(2, "two")), success(claims[1], t0, item(1, "one")))
	url := "https://new.example/"
	if err := s.EditFeed(ctx, 1, FeedEdit{URL: &url}); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, ids[:1], t0); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"feeds", "items", "contents", "positions", "documents", "fetches"} {
		want(t, table, dump(t, s, "SELECT count(*) FROM "+table), "1")
	}
	want(t, "former", dump(t, s, "SELECT count(*) FROM former_urls"), "0")
	want(t, "changes", dump(t, s, "SELECT seq, item_id, feed_id, kind FROM changes WHERE seq > 3"), "4|1|1|removed\n5|2|1|removed")
	added, err := s.AddFeeds(ctx, []NewFeed{{URL: url}}, t0)
	if err != nil || added[0].ID != 3 {
		t.Errorf("%+v %v", added, err)
	}
	want(t, "foreign keys", dump(t, s, "PRAGMA foreign_key_check"), "")
}

func TestCategories(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	addFeeds(t, s, 4, "b")
	if err := s.SetRanked(ctx, "a", true); err != nil {
		t.Fatal(err)
	}
	set(t, s, "consecutive_failures = 1, last_attempt_at = '2026-11-30T09:00:00Z', next_fetch_at = '2026-11-30T10:00:00Z'")
	if err := s.Stop(ctx, []int64{2}, "", t0); err != nil {
		t.Fatal(err)
	}
	all, err := s.Categories(ctx)
	wanted := []Category{{ID: 2, Name: "a", Ranked: true}, {ID: 1, Name: "b", Feeds: 4, Active: 3, Stopped: 1, Failing: 1, DueAtOnce: 2}}
	if err != nil || !slices.Equal(all, wanted) {
		t.Errorf("%+v %v", all, err)
	}
	if err := s.Stop(ctx, []int64{3, 4}, "", t0); err != nil {
		t.Fatal(err)
	}
	b, err := s.FindCategory(ctx, "b")
	if err != nil || !b.Oldest.Equal(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v %v", b, err)
	}
	if err := s.RenameCategory(ctx, "b", "a"); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if err := s.RenameCategory(ctx, "b", "news"); err != nil {
		t.Error(err)
	}
	if err := s.RenameCategory(ctx, "news", "news"); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		s.RenameCategory(ctx, "nwes", "x"),
		s.RemoveCategory(ctx, "nwes"),
		func() error { _, err := s.FindCategory(ctx, "nwe"); return err }(),
	} {
		var e *NotFoundError
		if !errors.As(err, &e) || e.What != "category" {
			t.Errorf("got %v", err)
		}
	}
	if err := s.RemoveCategory(ctx, "news"); err == nil || !strings.Contains(err.Error(), "4 feeds") {
		t.Errorf("got %v", err)
	}
	if err := s.SetRanked(ctx, "a", false); err != nil {
		t.Error(err)
	}
	if err := s.RemoveCategory(ctx, "a"); err != nil {
		t.Error(err)
	}
	want(t, "left", dump(t, s, "SELECT id, name, ranked FROM categories"), "1|news|0")
}

func TestNearest(t *testing.T) {
	names := []string{"News", "Technology", "Science", "https://example.org/feed.xml"}
	for asked, wanted := range map[string]string{
		"New": "News", "news": "News", "Tecnology": "Technology", "x": "", "": "", "https://example.org/feed": "https://example.org/feed.xml",
		"Something else": "", strings.Repeat("x", 1000): "",
	} {
		if got := Nearest(asked, names); got != wanted {
			t.Errorf("%q: %q, want %q", asked, got, wanted)
		}
	}
	for _, c := range []struct {
		a, b string
		d    int
	}{{"kitten", "sitting", 3}, {"", "abc", 3}, {"abc", "abc", 0}, {"ab", "ba", 1}, {"itmes", "items", 1}, {"abcd", "badc", 2}, {"ca", "abc", 3}} {
		if d := distance(c.a, c.b, 10); d != c.d {
			t.Errorf("%s %s: %d", c.a, c.b, d)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 failure": Count(1, "failure"), "0 feeds": Count(0, "feed"), "2 categories": Count(2, "category"), "1 category": Count(1, "category"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A feed that has failed since, or was never read, is no witness.
func TestLastRead(t *testing.T) {
	s := newStore(t)
	ctx := context.Background()
	var feeds []NewFeed
	for n := range 5 {
		feeds = append(feeds, NewFeed{URL: fmt.Sprintf("https://h%d.example/", n)})
	}
	if _, err := s.AddFeeds(ctx, feeds, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.update(ctx, func(tx *tx) error {
		return tx.run(`
			UPDATE feeds
			SET last_success_at = CASE WHEN id < 5 THEN '2026-11-30T0' || id || ':00:00Z' END,
			    consecutive_failures = id = 2, status = CASE id WHEN 3 THEN 'stopped' ELSE 'active' END`)
	}); err != nil {
		t.Fatal(err)
	}
	got, err := s.LastRead(ctx, 9)
	if want := []string{"https://h3.example/", "https://h0.example/"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := s.LastRead(ctx, 1); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
}
