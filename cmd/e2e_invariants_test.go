package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// converged checks what must hold after any fault, once the command that repairs has ended: each item served is stored once with its
// latest content, the database is sound, nothing is left over, the next scheduled command is silent, and only faults of
// a feed itself counted against it. at is the instant of that next command.
func (w *world) converged(at time.Time) {
	w.t.Helper()
	w.storedOnce()
	w.sound()
	w.unblamed()
	w.nothingLeft()
	w.nothingToDo(at, "half-check")
}

// storedOnce compares the rows with what the site served: every item once, with its latest content, and one change that says so.
func (w *world) storedOnce() {
	w.t.Helper()
	same(w.t, "items", w.site.shown(), w.query(`
		SELECT f.url, i.url, i.title, coalesce(c.content, c.summary)
		FROM items i JOIN feeds f ON f.id = i.feed_id LEFT JOIN contents c ON c.item_id = i.id`))
	same(w.t, "items without exactly one change of kind new", nil, w.query(`
		SELECT i.id, i.title FROM items i
		WHERE (SELECT count(*) FROM changes c WHERE c.item_id = i.id AND c.kind = 'new') <> 1`))
}

// shown is what whole answers have shown, in the form of storedOnce.
func (s *site) shown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, f := range s.feeds {
		for _, i := range f.served {
			link := i.link
			if link == "" {
				link = "NULL"
			}
			list = append(list, strings.Join([]string{f.url, link, i.title, i.text}, " | "))
		}
	}
	return list
}

// sound checks the database.
func (w *world) sound() {
	w.t.Helper()
	same(w.t, "integrity", []string{"ok"}, w.query("PRAGMA integrity_check"))
	same(w.t, "foreign keys", nil, w.query("PRAGMA foreign_key_check"))
	same(w.t, "leases left", nil, w.query("SELECT id, lease_owner, lease_until FROM feeds WHERE lease_owner IS NOT NULL OR lease_until IS NOT NULL"))
	same(w.t, "runs without outcome", nil, w.query("SELECT id, kind, hour FROM runs WHERE outcome IS NULL"))
	same(w.t, "runs that are done and have a reason, or are not and have none", nil,
		w.query("SELECT id, kind, outcome, reason FROM runs WHERE (outcome = 'done') <> (reason IS NULL)"))
}

// unblamed checks that feeds whose host serves have no failure.
func (w *world) unblamed() {
	w.t.Helper()
	w.site.mu.Lock()
	healthy := map[string]bool{}
	for _, f := range w.site.feeds {
		healthy[f.url] = f.behave == serves
	}
	w.site.mu.Unlock()
	for _, row := range w.query("SELECT url, status, consecutive_failures, last_error FROM feeds WHERE status <> 'active' OR consecutive_failures <> 0 OR last_error IS NOT NULL") {
		if url, _, _ := strings.Cut(row, " | "); healthy[url] {
			w.t.Fatalf("a healthy feed is blamed: %s", row)
		}
	}
}

var expectedFiles = regexp.MustCompile(`^(crawl\.db|id|lock|memory\.json|snapshots/\d+\.jsonl) `)

// nothingLeft checks the data directory: no flag, part, temporary file or journal, and nobody in the lock.
func (w *world) nothingLeft() {
	w.t.Helper()
	for _, line := range w.files() {
		if !expectedFiles.MatchString(line) {
			w.t.Fatalf("left over: %s", line)
		}
	}
	if held, err := os.ReadFile(filepath.Join(w.dir, "lock")); err != nil || len(held) != 0 {
		w.t.Fatalf("the lock file says %q, %v", held, err)
	}
}

// nothingToDo runs a command that must be silent, request nothing and write nothing.
func (w *world) nothingToDo(at time.Time, args ...string) {
	w.t.Helper()
	before, requests := w.writable(), len(w.site.requests())
	w.silent(at, args...)
	same(w.t, fmt.Sprintf("files after %v with nothing to do", args), before, w.writable())
	if more := len(w.site.requests()) - requests; more != 0 {
		w.t.Fatalf("%d requests of %v with nothing to do", more, args)
	}
}

// writable lists the files apart from the lock, which every run must take.
func (w *world) writable() []string {
	return slices.DeleteFunc(w.files(), func(line string) bool { return strings.HasPrefix(line, "lock ") })
}

// atMost checks that no feed was requested more often than that.
func atMost(t testing.TB, n int, log []siteRequest) {
	t.Helper()
	for f, count := range perFeed(log) {
		if count > n {
			t.Fatalf("%s was requested %d times, not at most %d", f.title, count, n)
		}
	}
}

// eachOnce checks that each of these feeds was requested exactly once, and nothing else was.
func eachOnce(t testing.TB, log []siteRequest, feeds []*siteFeed) {
	t.Helper()
	count := perFeed(log)
	for _, f := range feeds {
		if count[f] != 1 {
			t.Fatalf("%s was requested %d times, not once", f.title, count[f])
		}
	}
	if len(log) != len(feeds) {
		t.Fatalf("%d requests, not %d", len(log), len(feeds))
	}
}

// content is everything in the database that does not depend on when, by whom and in what order it was written.
func (w *world) content() []string {
	w.t.Helper()
	item := w.columns("items", "i", "id", "feed_id", "seq", "first_seen_at", "changed_at")
	feed := w.columns("feeds", "f", "id", "category_id", "previous_attempt_at", "last_attempt_at", "last_fetched_at", "last_success_at", "last_changed_at",
		"next_fetch_at", "lease_owner", "lease_boot", "lease_until", "lease_token", "merged_token", "added_at")
	var list []string
	for _, query := range []string{
		"SELECT 'feed', " + feed + " FROM feeds f",
		"SELECT 'item', f.url, " + item + ", c.summary, c.content FROM items i JOIN feeds f ON f.id = i.feed_id LEFT JOIN contents c ON c.item_id = i.id",
		"SELECT 'change', f.url, i.key, h.kind, h.columns FROM changes h JOIN items i ON i.id = h.item_id JOIN feeds f ON f.id = i.feed_id",
		"SELECT 'position', p.hour, f.url, i.key, p.position FROM positions p JOIN items i ON i.id = p.item_id JOIN feeds f ON f.id = i.feed_id",
	} {
		list = append(list, w.query(query)...)
	}
	return list
}

// columns lists a table's columns but for some, to select them.
func (w *world) columns(table, alias string, but ...string) string {
	w.t.Helper()
	var list []string
	for _, name := range w.query("SELECT name FROM pragma_table_info(?)", table) {
		if !slices.Contains(but, name) {
			list = append(list, alias+`."`+name+`"`)
		}
	}
	if len(list) == 0 {
		w.t.Fatalf("no table %s", table)
	}
	return strings.Join(list, ", ")
}
