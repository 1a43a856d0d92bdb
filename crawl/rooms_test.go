package crawl

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms says which rooms each room may import. One direction only: whoever reads a room need not know those above it, and
// the five at the end can be understood, tested and replaced alone.
var rooms = map[string][]string{
	"crawl":             {"crawl/cmd"},
	"crawl/cmd":         {"crawl/crawl", "crawl/crawl/fetch", "crawl/crawl/feed", "crawl/store", "crawl/state"},
	"crawl/crawl":       {"crawl/crawl/fetch", "crawl/crawl/feed", "crawl/store", "crawl/state"},
	"crawl/crawl/fetch": {},
	"crawl/crawl/feed":  {},
	"crawl/store":       {"crawl/state/files"},
	"crawl/state":       {"crawl/state/files"},
	"crawl/state/files": {},
}

// onlyHere says which libraries belong to one room: the owner of their noun.
var onlyHere = map[string]string{
	"github.com/mattn/go-sqlite3": "crawl/store",
	"github.com/mmcdole/gofeed":   "crawl/crawl/feed",
	"code.dny.dev/ssrf":           "crawl/crawl/fetch",
	"github.com/spf13/cobra":      "crawl/cmd",
}

func TestRoomsImportOneWay(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files++
		checkImports(t, path)
		return nil
	})
	if err != nil || files < 30 {
		t.Fatalf("%d files read, error %v", files, err)
	}
}

func checkImports(t *testing.T, path string) {
	rel, err := filepath.Rel("..", filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	room := strings.TrimSuffix("crawl/"+filepath.ToSlash(rel), "/.")
	allowed, known := rooms[room]
	if !known {
		t.Errorf("%s is in no room", path)
		return
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(imported, "crawl/") && !slices.Contains(allowed, imported) {
			t.Errorf("%s imports %s: %s may import only %v", path, imported, room, allowed)
		}
		for library, owner := range onlyHere {
			if (imported == library || strings.HasPrefix(imported, library+"/")) && room != owner {
				t.Errorf("%s imports %s, which belongs to %s", path, library, owner)
			}
		}
	}
}
