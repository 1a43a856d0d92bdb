package store

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// read returns what Items yields, in short.
func read(t testing.TB, s *Store, f ItemFilter) string {
	t.Helper()
	out := ""
	for it, err := range s.Items(context.Background(), f) {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%d %s %d of %d %s %v\n", it.Seq, it.Kind, it.ID, it.FeedID, it.Title, it.Columns)
	}
	return out
}

func TestItems(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	a, b := addFeeds(t, s, 1, "a")[0], addFeeds(t, s, 1, "b")[0]
	claims := claimAt(t, s, t0, a, b)
	merge1(t, s, t0, success(claims[0], t0, item(1, "one"), item(2, "two")), success(claims[1], t0, item(3, "three")))
	t1 := t0.Add(time.Hour)
	merge1(t, s, t1, success(claimOne(t, s, t1, a), t1, item(2, "TWO"), item(4, "four")))
	want(t, "newest first", read(t, s, ItemFilter{}), `
5 new 4 of 1 four []
3 new 3 of 2 three []
4 updated 2 of 1 TWO [title content]
1 new 1 of 1 one []`)
	changes := `
1 new 1 of 1 one []
2 new 2 of 1 TWO []
3 new 3 of 2 three []
4 updated 2 of 1 TWO [title content]
5 new 4 of 1 four []`
	want(t, "changes", read(t, s, ItemFilter{ByChange: true}), changes)
	tests := []struct {
		name   string
		f      ItemFilter
		wanted string
	}{
		{"after", ItemFilter{ByChange: true, After: 3}, "4 updated 2 of 1 TWO [title content]\n5 new 4 of 1 four []"},
		{"after the last", ItemFilter{ByChange: true, After: 5}, ""},
		{"limit of changes", ItemFilter{ByChange: true, After: 1, Limit: 1}, "2 new 2 of 1 TWO []"},
		{"limit", ItemFilter{Limit: 1}, "5 new 4 of 1 four []"},
		{"category", ItemFilter{Category: "b"}, "3 new 3 of 2 three []"},
		{"changes of a category", ItemFilter{ByChange: true, Category: "b"}, "3 new 3 of 2 three []"},
		{"feed", ItemFilter{FeedIDs: []int64{2}}, "3 new 3 of 2 three []"},
		{"two feeds", ItemFilter{FeedIDs: []int64{2, 1}, Limit: 2}, "5 new 4 of 1 four []\n3 new 3 of 2 three []"},
		{"changes of a feed", ItemFilter{ByChange: true, FeedIDs: []int64{2}}, "3 new 3 of 2 three []"},
		{"since", ItemFilter{Since: t1}, "5 new 4 of 1 four []\n4 updated 2 of 1 TWO [title content]"},
		{"since, in between", ItemFilter{Since: t0.Add(1)}, "5 new 4 of 1 four []\n4 updated 2 of 1 TWO [title content]"},
		{"changes since", ItemFilter{ByChange: true, Since: t1}, "4 updated 2 of 1 TWO [title content]\n5 new 4 of 1 four []"},
		{"limit of a category", ItemFilter{Category: "a", Limit: 2}, "5 new 4 of 1 four []\n4 updated 2 of 1 TWO [title content]"},
		{"all together", ItemFilter{ByChange: true, After: 1, Since: t1, Category: "a", FeedIDs: []int64{1}, Limit: 9}, "4 updated 2 of 1 TWO [title content]\n5 new 4 of 1 four []"},
		{"nothing", ItemFilter{Category: "c"}, ""},
	}
	for _, test := range tests {
		want(t, test.name, read(t, s, test.f), test.wanted)
	}
	if err := s.Remove(ctx, []int64{b}, t1); err != nil {
		t.Fatal(err)
	}
	want(t, "a removal", read(t, s, ItemFilter{ByChange: true, After: 2}), `
4 updated 2 of 1 TWO [title content]
5 new 4 of 1 four []
6 removed 3 of 2  []`)
	for _, f := range []ItemFilter{{Category: "a"}, {Category: "b"}, {FeedIDs: []int64{2}}, {Category: "a", FeedIDs: []int64{2}}} {
		f.ByChange, f.After = true, 5
		want(t, "a removal to who follows", read(t, s, f), "6 removed 3 of 2  []")
	}
	want(t, "a removal to who follows another feed", read(t, s, ItemFilter{ByChange: true, After: 5, FeedIDs: []int64{1}}), "")
	for id, want := range map[int64]bool{a: false, b: true, 99: false} {
		if gone, err := s.IsGone(ctx, id); gone != want || err != nil {
			t.Errorf("feed %d is gone: %v, %v", id, gone, err)
		}
	}
	counts, highest, err := s.ChangeCounts(ctx, 3)
	if err != nil || highest != 6 || fmt.Sprint(counts) != "map[new:1 removed:1 updated:1]" {
		t.Errorf("%v %d %v", counts, highest, err)
	}
	counts, highest, err = s.ChangeCounts(ctx, 6)
	if err != nil || highest != 6 || len(counts) != 0 {
		t.Errorf("%v %d %v", counts, highest, err)
	}
}

// Every field of an item comes back as it was stored.
func TestItemFields(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	it := Item{
		Key: "k", GUID: "g", URL: "u", Title: "t", Author: "a", Summary: "s", Content: "c", CommentsURL: "cu", ImageURL: "iu", Language: "de",
		Duration: 61, PublishedAt: t0, UpdatedAt: t0.Add(time.Minute), Categories: []string{"x", `"y"`}, Hash: -5,
		Enclosures: []Enclosure{{"https://e.example/1", "audio/mpeg", 1 << 40}, {URL: "https://e.example/2"}},
	}
	c := claimOne(t, s, t0, id)
	merge1(t, s, t0, success(c, t0, it))
	set(t, s, "title = 'its own'")
	n := 0
	for row, err := range s.Items(context.Background(), ItemFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if stored := storedItem(t, s, row.ID); !sameItem(stored, it) {
			t.Errorf("%+v", stored)
		}
		want(t, "row", text1(row), text1(ItemRow{
			1, "new", row.Columns, 1, id, c.URL, "its own", it.Key, it.GUID, it.URL, it.Title, it.Author, it.PublishedAt, it.UpdatedAt, t0, t0,
			it.Summary, it.Content, it.Categories, it.Enclosures,
		}))
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
}

// A reader may stop early, write to the store in between, and end with its context.
func TestItemsWhileWriting(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	var items []Item
	for n := range 500 {
		items = append(items, item(n, "some title"))
	}
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, items...))
	n := 0
	for _, err := range s.Items(context.Background(), ItemFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			if err := s.SetRanked(context.Background(), "other", true); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n = 0
	var last error
	for _, err := range s.Items(ctx, ItemFilter{}) {
		if last = err; err == nil {
			n++
		}
		cancel()
	}
	if last == nil || n == 500 {
		t.Errorf("%d items, then %v", n, last)
	}
	want(t, "items", dump(t, s, "SELECT count(*) FROM items"), "500")
}

// A consumer that has stopped gets no error after that either: the loop would panic.
func TestItemsAfterTheConsumerStopped(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one"), item(2, "two")))
	was, err := os.Stat(pathOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	s.frozen = &frozen{path: pathOf(t, s) + "-gone", was: was} // each reading ends with an error
	rows := 0
	for _, err := range s.Items(context.Background(), ItemFilter{}) {
		if rows++; err != nil {
			t.Error(err)
		}
		break
	}
	if rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

// Whatever is cleaned away, a number that a reader may have seen is never given again.
func TestSeqIsNeverUsedTwice(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, item(1, "one"), item(2, "two")))
	err := s.update(context.Background(), func(x *tx) error {
		if err := x.run("DELETE FROM items"); err != nil {
			return err
		}
		return x.run("DELETE FROM changes")
	})
	if err != nil {
		t.Fatal(err)
	}
	t1 := t0.Add(time.Hour)
	merge1(t, s, t1, success(claimOne(t, s, t1, id), t1, item(3, "three")))
	want(t, "seq and id", dump(t, s, "SELECT seq, item_id FROM changes"), "3|3")
	if _, highest, err := s.ChangeCounts(context.Background(), 3); highest != 3 || err != nil {
		t.Errorf("highest %d %v", highest, err)
	}
}
