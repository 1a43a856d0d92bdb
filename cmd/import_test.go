package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Ten thousand feeds are imported at once, exported, and imported again elsewhere: the same feeds in the same categories.
func TestImportOfManyFeeds(t *testing.T) {
	const many = 10_000
	var feeds []outline
	for n := range many {
		feeds = append(feeds, outline{
			title: fmt.Sprintf("Feed %d & more", n), url: fmt.Sprintf("https://host%d.example/feed?n=%d", n%1000, n),
			category: fmt.Sprintf("Folder %03d / Sub %d", n/100, n/50%2),
		})
	}
	var file bytes.Buffer
	if err := writeOPML(&file, feeds); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "feeds.opml")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	here, there := newCrawler(t), newCrawler(t)
	here.ok("import", path)
	here.ok("import", path)
	exported := here.ok("export")
	got, err := readOPML(bytes.NewReader([]byte(exported)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].line = 0
	}
	if !slices.Equal(got, feeds) {
		t.Fatalf("%d feeds came back as %d others", len(feeds), len(got))
	}
	if err := os.WriteFile(path, []byte(exported), 0o600); err != nil {
		t.Fatal(err)
	}
	there.ok("import", path)
	if there.ok("export") != exported {
		t.Error("the second export differs from the first")
	}
}
