package cmd

import (
	"net/http"
	"testing"
	"time"
)

// Every item that was served is stored once, whatever the format and however the feed repeats itself; a second run of the hour does
// nothing, and a forced one asks with validators and touches no item.
func TestEveryItemServedIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var broken []*siteFeed
	for n := range 120 {
		f := s.add([]string{"News", "Science", "Art"}[n/40], 20)
		switch {
		case n%10 == 4: // some items twice in the document
			f.items = append(f.items, f.items[2], f.items[0], f.items[len(f.items)-4])
		case n%10 == 7:
			f.behave, f.code = fails, http.StatusInternalServerError
			broken = append(broken, f)
		}
	}
	w := newWorld(t, s)
	w.subscribe()

	w.silent(runAt(0), "run")
	eachOnce(t, s.cut(), s.feeds)
	w.storedOnce()
	w.sound()
	if got := w.number("SELECT count(*) FROM items"); got != 108*20 {
		t.Fatalf("%d items, not %d", got, 108*20)
	}
	same(t, "feeds with a failure", urls(broken), w.query("SELECT url FROM feeds WHERE consecutive_failures = 1 AND last_error_kind = 'http'"))

	w.nothingToDo(runAt(0).Add(10*time.Minute), "run")
	w.converged(halfAt(0))

	items, contents, changes := w.query("SELECT * FROM items"), w.query("SELECT * FROM contents"), w.query("SELECT * FROM changes")
	w.silent(runAt(0).Add(15*time.Minute), "run", "--force")
	log := s.cut()
	eachOnce(t, log, s.feeds)
	for _, r := range log {
		want := http.StatusOK
		switch {
		case r.feed.behave == fails:
			want = r.feed.code
		case r.feed.validators:
			want = http.StatusNotModified
		}
		if r.status != want {
			t.Fatalf("%s answered %d to the forced run, not %d: %v", r.feed.title, r.status, want, r.header)
		}
	}
	same(t, "items after --force", items, w.query("SELECT * FROM items"))
	same(t, "contents after --force", contents, w.query("SELECT * FROM contents"))
	same(t, "changes after --force", changes, w.query("SELECT * FROM changes"))
	same(t, "failures after --force in the same hour", urls(broken), w.query("SELECT url FROM feeds WHERE consecutive_failures = 1"))
	w.converged(halfAt(0).Add(time.Minute))
}

func urls(feeds []*siteFeed) []string {
	var list []string
	for _, f := range feeds {
		list = append(list, f.url)
	}
	return list
}

// Next hour, with everything as it was, is one conditional request for each feed that gave validators, and no row of items changes.
func TestAnUnchangedHourWritesNoItem(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 12 {
		s.add("News", 5)
	}
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	s.cut()
	items := w.query("SELECT * FROM items")
	for hour := 1; hour <= 2; hour++ {
		w.silent(runAt(hour), "run")
		for _, r := range s.cut() {
			if r.feed.validators != (r.status == http.StatusNotModified) {
				t.Fatalf("hour %d: %s answered %d", hour, r.feed.title, r.status)
			}
		}
		same(t, "items", items, w.query("SELECT * FROM items"))
		w.converged(halfAt(hour))
	}
}
