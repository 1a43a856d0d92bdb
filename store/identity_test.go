package store

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// visit merges one document of a feed, an hour after the last.
type visitor struct {
	t   *testing.T
	s   *Store
	id  int64
	now time.Time
}

func newVisitor(t *testing.T) *visitor {
	s := newStoreFast(t)
	s.o.Key = testKey
	return &visitor{t: t, s: s, id: addFeeds(t, s, 1, "c")[0], now: t0}
}

func (v *visitor) visit(change func(*Result), items ...Item) Merged {
	v.t.Helper()
	e := success(claimOne(v.t, v.s, v.now, v.id), v.now, items...)
	if change != nil {
		change(&e.Result)
	}
	m := merge1(v.t, v.s, v.now, e)
	v.now = v.now.Add(time.Hour)
	return m
}

func (v *visitor) want(what, query, wanted string) {
	v.t.Helper()
	want(v.t, what, dump(v.t, v.s, query), wanted)
}

// Only if link, title and a newer date all differ is it another post under a reused guid.
func TestReusedGUID(t *testing.T) {
	post := func(url, title string, day int) Item {
		return Item{Key: "g:1", GUID: "1", URL: url, Title: title, PublishedAt: t0.AddDate(0, 0, day), Hash: int64(len(url+title)*100 + day)}
	}
	first := post("http://x.example/1", "first", 1)
	tests := []struct {
		name string
		then Item
		rows int
	}{
		{"everything newer", post("http://x.example/2", "second", 2), 2},
		{"same link by https", post("https://x.example/1", "second", 2), 1},
		{"same title", post("http://x.example/2", "first", 2), 1},
		{"same date", post("http://x.example/2", "second", 1), 1},
		{"older", post("http://x.example/2", "second", 0), 1},
		{"no title", post("http://x.example/2", "", 2), 1},
		{"no link", post("", "second", 2), 1},
		{"no guid", func() Item { i := post("http://x.example/2", "second", 2); i.GUID = ""; return i }(), 1},
	}
	for _, test := range tests {
		v := newVisitor(t)
		v.visit(nil, first)
		m := v.visit(nil, test.then)
		if m.New+m.Updated != 1 || m.New != test.rows-1 {
			t.Errorf("%s: %+v", test.name, m)
		}
		v.want(test.name, "SELECT count(*) FROM items", fmt.Sprint(test.rows))
		if m = v.visit(nil, test.then); m.Updated != 0 || m.New != 0 {
			t.Errorf("%s, again: %+v", test.name, m)
		}
		changed := test.then
		changed.Author, changed.Hash = "somebody", 1
		if m = v.visit(nil, changed); m.New != 0 || m.Updated != 1 {
			t.Errorf("%s, changed: %+v", test.name, m)
		}
	}
}

// A third post gets a row of its own as well, and the second is found again when only its scheme changes.
func TestGUIDReusedAgain(t *testing.T) {
	v := newVisitor(t)
	for n := range 3 {
		v.visit(nil, Item{Key: "g:1", GUID: "1", URL: fmt.Sprintf("http://x.example/%d", n), Title: fmt.Sprint("post ", n),
			PublishedAt: t0.AddDate(0, 0, n), Hash: int64(n)})
	}
	v.want("posts", "SELECT title FROM items ORDER BY id", "post 0\npost 1\npost 2")
	m := v.visit(nil, Item{Key: "g:1", GUID: "1", URL: "https://x.example/2", Title: "post 2", PublishedAt: t0.AddDate(0, 0, 2), Hash: 9})
	if m.New != 0 || m.Updated != 1 {
		t.Errorf("%+v", m)
	}
	v.want("changes", "SELECT columns FROM changes WHERE kind = 'updated'", `["url"]`)
}

// A clock in the text: 24 such changes are let through, then one a day. Any other change, or a newer date, ends that.
func TestBrake(t *testing.T) {
	v := newVisitor(t)
	text := func(n int) Item {
		it := item(1, "title")
		it.Content, it.Hash, it.UpdatedAt = fmt.Sprint("it is ", n), int64(n), t0
		return it
	}
	v.visit(nil, text(0))
	updated := 0
	for n := 1; n <= 24+48; n++ {
		updated += v.visit(nil, text(n)).Updated
	}
	if updated != 24+2 {
		t.Errorf("%d changes", updated)
	}
	v.want("text", "SELECT content FROM contents", "it is 72")
	if m := v.visit(nil, text(100)); m.Updated != 0 {
		t.Errorf("the brake does not hold: %+v", m)
	}
	newer := text(101)
	newer.UpdatedAt = t0.Add(time.Hour)
	if m := v.visit(nil, newer); m.Updated != 1 {
		t.Errorf("a newer date: %+v", m)
	}
	newer.Content, newer.Hash = "fixed", 102
	if m := v.visit(nil, newer); m.Updated != 1 {
		t.Errorf("the count did not begin anew: %+v", m)
	}
}

// Text that the brake holds back is not lost when its source settles: a feed whose document is not stored whole keeps the validators
// and item hashes of the last one that is, so that this one comes again until the brake lets it through.
func TestTextThatTheBrakeHeldBackArrives(t *testing.T) {
	v := newVisitor(t)
	const changes = brakeAfter + 5
	for n := range changes + 48 {
		n = min(n, changes) // then the source has settled
		tag, body, hashes := fmt.Sprintf(`"%d"`, n), int64(1000+n), fmt.Sprint("items at ", n)
		c := claimOne(t, v.s, v.now, v.id)
		known, err := v.s.Document(context.Background(), v.id)
		if err != nil {
			t.Fatal(err)
		}
		e := notModified(c, v.now)
		if c.ETag != tag && c.BodyHash != body && string(known) != hashes { // what the server, the pool and the reader look at
			it := item(1, "title")
			it.Content, it.Hash = fmt.Sprint("text ", n), int64(n)
			e = success(c, v.now, it)
			e.Result.Feed.ETag, e.Result.Document = tag, []byte(hashes)
			e.Result.Feed.LastModified, e.Result.Feed.ValidatorsURL = "modified "+tag, c.URL
		}
		e.Result.Feed.BodyHash = body
		merge1(t, v.s, v.now, e)
		v.now = v.now.Add(time.Hour)
		if n == changes-1 {
			v.want("while it holds", "SELECT etag, last_modified, body_hash FROM feeds", fmt.Sprintf(`"%d"|modified "%[1]d"|%d`, brakeAfter, 1000+brakeAfter))
			v.want("while it holds", "SELECT CAST(item_hashes AS TEXT) FROM documents", fmt.Sprint("items at ", brakeAfter))
		}
	}
	v.want("the last text", "SELECT content, etag FROM contents, feeds", fmt.Sprintf(`text %d|"%[1]d"`, changes))
}

// A feed that changes its identity rule has its rows re-keyed in the same transaction: nothing is new.
func TestRekey(t *testing.T) {
	v := newVisitor(t)
	byRule := func(rule, n int, title string) Item {
		it := item(n, title)
		it.Key = testKey(rule, it.GUID, it.URL, it.Title, it.Content)
		return it
	}
	v.visit(nil, byRule(1, 1, "one"), byRule(1, 2, "two"))
	m := v.visit(func(r *Result) { r.Feed.KeyRule = 2 }, byRule(2, 1, "one"), byRule(2, 2, "TWO"), byRule(2, 3, "three"))
	if m.New != 1 || m.Updated != 1 {
		t.Errorf("%+v", m)
	}
	v.want("keys", "SELECT id, key, title FROM items ORDER BY id", `
1|u://example.org/1|one
2|u://example.org/2|TWO
3|u://example.org/3|three`)
	v.want("rule", "SELECT key_rule FROM feeds", "2")
	m = v.visit(func(r *Result) { r.Outcome, r.Feed.KeyRule, r.Document = Unchanged, 1, nil })
	if m.Applied != 1 {
		t.Errorf("%+v", m)
	}
	v.want("an unchanged feed changes no rule", "SELECT key_rule FROM feeds", "2")
	m = v.visit(nil, byRule(1, 1, "one"), byRule(1, 2, "TWO"), byRule(1, 3, "three"))
	if m.New+m.Updated != 0 {
		t.Errorf("back: %+v", m)
	}
	v.want("keys", "SELECT id, key FROM items ORDER BY id", "1|g:1\n2|g:2\n3|g:3")
}

// Where two rows get the same key, the first has it, the other is kept; keys that change places do not collide on the way.
func TestRekeyCollisions(t *testing.T) {
	v := newVisitor(t)
	v.s.o.Key = func(rule int, guid, url, title, text string) string {
		return map[string]string{"a": "k:b", "b": "k:a", "c": "k:b", "d": "k:b"}[title]
	}
	row := func(title, url string) Item {
		return Item{Key: "k:" + title, Title: title, URL: url, Hash: int64(title[0])}
	}
	v.visit(nil, row("a", "http://x.example/a"), row("b", "http://x.example/b"), row("c", "http://x.example/c"), row("d", "https://x.example/c"))
	if m := v.visit(func(r *Result) { r.Feed.KeyRule = 2 }); m.Applied != 1 {
		t.Fatalf("%+v", m)
	}
	v.want("keys", "SELECT id, title, replace(key, char(10), '+') FROM items ORDER BY id", `
1|a|k:b
2|b|k:a
3|c|k:b+//x.example/c
4|d|k:b+//x.example/c+4`)
}

// A late result under another rule than the feed's now is not allowed to bring its items in as new.
func TestLateResultOfAnotherRule(t *testing.T) {
	v := newVisitor(t)
	late := success(claimOne(t, v.s, v.now, v.id), v.now, item(1, "one"))
	v.now = v.now.Add(time.Hour)
	v.visit(func(r *Result) { r.Feed.KeyRule = 2 }, Item{Key: "u://example.org/1", GUID: "1", Title: "one", Hash: 1})
	if m := merge1(t, v.s, v.now, late); m.Applied != 0 || m.New != 0 {
		t.Errorf("%+v", m)
	}
	// Where nothing was merged yet its items come in, and so does their rule.
	other := newVisitor(t)
	late = success(claimOne(t, other.s, other.now, other.id), other.now, item(1, "one"))
	if err := other.s.EditFeed(context.Background(), other.id, FeedEdit{Title: new(string)}); err != nil {
		t.Fatal(err)
	}
	claimOne(t, other.s, other.now.Add(time.Hour), other.id)
	if m := merge1(t, other.s, other.now, late); m.Applied != 0 || m.New != 1 {
		t.Errorf("%+v", m)
	}
	other.want("rule", "SELECT key_rule FROM feeds", "1")
}

func TestRekeyNeedsKey(t *testing.T) {
	v := newVisitor(t)
	v.visit(nil, item(1, "one"))
	v.s.o.Key = nil
	e := success(claimOne(t, v.s, v.now, v.id), v.now)
	e.Result.Feed.KeyRule = 2
	if _, err := v.s.Merge(context.Background(), 1, []Entry{e}, nil, v.now); err == nil {
		t.Error("no error")
	}
}

// A permanent redirect rewrites the URL and keeps the old one; if the target is a feed here that works, this one is stopped as its
// duplicate; if that does not work, this one keeps its URL.
func TestPermanentRedirect(t *testing.T) {
	const target = "https://target.example/"
	tests := []struct {
		name, other string // state of the feed that has the target; "" none
		feed        string
		former      string
		duplicate   int
	}{
		{"nobody has it", "", target + "|active|<nil>|0", "1", 0},
		{"a working feed", "consecutive_failures = 0, last_success_at = '2026-11-30T10:00:00Z'",
			"https://0.example/c/feed|stopped|duplicate of feed 2|0", "0", 1},
		{"a failing feed", "consecutive_failures = 1, last_success_at = '2026-11-30T10:00:00Z'", "https://0.example/c/feed|active|<nil>|1", "0", 0},
		{"a stopped feed", "status = 'stopped', last_success_at = '2026-11-30T10:00:00Z'", "https://0.example/c/feed|active|<nil>|1", "0", 0},
		{"a feed never fetched", "title = title", "https://0.example/c/feed|active|<nil>|1", "0", 0},
	}
	for _, test := range tests {
		v := newVisitor(t)
		if test.other != "" {
			if _, err := v.s.AddFeeds(context.Background(), []NewFeed{{URL: target}}, t0); err != nil {
				t.Fatal(err)
			}
			err := v.s.update(context.Background(), func(x *tx) error { return x.run("UPDATE feeds SET " + test.other + " WHERE id = 2") })
			if err != nil {
				t.Fatal(err)
			}
		}
		m := v.visit(func(r *Result) { r.Feed.URL = target }, item(1, "one"))
		if m.Applied != 1 || m.New != 1 || m.Stopped != test.duplicate || len(m.Failed) > 0 {
			t.Errorf("%s: %+v", test.name, m)
		}
		v.want(test.name, "SELECT url, status, stopped_reason, last_warning IS NOT NULL FROM feeds WHERE id = 1", test.feed)
		v.want(test.name, "SELECT count(*) FROM former_urls WHERE feed_id = 1 AND url = 'https://0.example/c/feed'", test.former)
	}
}

// A feed that goes to and fro between two URLs has one of them as former, never both.
func TestRedirectToAndFro(t *testing.T) {
	v := newVisitor(t)
	for n := range 3 {
		e := success(claimOne(t, v.s, v.now, v.id), v.now)
		e.Result.Feed.URL = []string{"https://b.example/", "https://0.example/c/feed"}[n%2]
		if m := merge1(t, v.s, v.now, e); m.Applied != 1 {
			t.Fatalf("%+v", m)
		}
		v.now = v.now.Add(time.Hour)
	}
	v.want("URLs", "SELECT f.url, o.url FROM feeds f JOIN former_urls o ON o.feed_id = f.id", "https://b.example/|https://0.example/c/feed")
}

// In ranked categories each item has one position an hour: replaced by a new document of the hour, carried on while the feed is
// unchanged, absent while it fails.
func TestPositions(t *testing.T) {
	v := newVisitor(t)
	if err := v.s.SetRanked(context.Background(), "c", true); err != nil {
		t.Fatal(err)
	}
	const query = `
		SELECT substr(p.hour, 12, 5), group_concat(i.title, ' ' ORDER BY p.position), group_concat(p.position, ' ' ORDER BY p.position)
		FROM positions p JOIN items i ON i.id = p.item_id GROUP BY p.hour ORDER BY p.hour`
	a, b, c := item(1, "a"), item(2, "b"), item(3, "c")
	v.visit(nil, a, b)
	v.visit(func(r *Result) { r.Outcome, r.Document, r.Keys = Unchanged, nil, []string{a.Key, b.Key} })
	v.visit(func(r *Result) { r.Keys = []string{c.Key, b.Key, "unknown", b.Key, a.Key} }, c)
	v.visit(func(r *Result) { r.Outcome, r.Document, r.Keys, r.Feed.LastError = Failed, nil, nil, "e" })
	v.visit(func(r *Result) { r.Outcome, r.Document, r.Keys = Unchanged, nil, []string{c.Key, b.Key, a.Key} })
	v.want("positions", query, `
10:30|a b|1 2
11:30|a b|1 2
12:30|c b a|1 2 3
14:30|c b a|1 2 3`)
	again := func(change func(*Result)) {
		v.now = v.now.Add(-time.Hour)
		d := dueAt(v.now)
		d.Force = true
		claims, err := v.s.Claim(context.Background(), []int64{v.id}, Lease{owner, "boot", v.now}, d)
		if err != nil || len(claims) != 1 {
			t.Fatal(claims, err)
		}
		e := success(claims[0], v.now)
		change(&e.Result)
		merge1(t, v.s, v.now, e)
		v.now = v.now.Add(time.Hour)
	}
	again(func(r *Result) { r.Keys = []string{a.Key} })
	again(func(r *Result) { r.Outcome, r.Document, r.Keys = Unchanged, nil, []string{a.Key} })
	v.want("replaced", query+" DESC LIMIT 1", "14:30|a|1")
	again(func(r *Result) { r.Keys = nil }) // an empty document
	v.want("empty", query+" DESC LIMIT 1", "12:30|c b a|1 2 3")
}

// The post that now uses a guid has the position, not the one that had it before.
func TestPositionOfAReusedGUID(t *testing.T) {
	v := newVisitor(t)
	if err := v.s.SetRanked(context.Background(), "c", true); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		v.visit(nil, Item{Key: "g:1", GUID: "1", URL: fmt.Sprint("http://x.example/", n), Title: fmt.Sprint("post ", n), PublishedAt: t0.AddDate(0, 0, n), Hash: int64(n)})
	}
	v.visit(func(r *Result) { r.Keys = []string{"g:1"} })
	v.want("positions", "SELECT i.title FROM positions p JOIN items i ON i.id = p.item_id ORDER BY hour", "post 0\npost 1\npost 1")
}
