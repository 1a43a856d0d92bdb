package crawl

import (
	"errors"
	"path/filepath"
	"testing"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

// A database that fails is no reason to ask further addresses.
func TestAddEndsWhereTheDatabaseFails(t *testing.T) {
	const page = "https://www.reddit.com/r/golang/"
	if len(feed.KnownFeeds(page)) != 1 {
		t.Fatal("no rule knows the page")
	}
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "crawl.db"), store.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	client, err := fetch.New(fetch.Options{UserAgent: "crawl"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	a := &adding{session: session{store: db, client: client}, typed: page}
	_, err = a.find(t.Context(), page)
	if fetched := (*fetch.Error)(nil); err == nil || errors.As(err, &fetched) {
		t.Errorf("the error is %v", err)
	}
}
