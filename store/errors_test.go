package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
)

// fault is something that an open database meets, and what it is for callers.
type fault struct {
	name string
	is   error
	make func(t *testing.T, path string, s *Store)
}

func faults() []fault {
	return []fault{
		{"full", ErrFull, func(t *testing.T, _ string, s *Store) {
			setPragma(t, s, "PRAGMA max_page_count = 1") // SQLite makes that the present size
		}},
		{"busy", ErrBusy, func(t *testing.T, path string, _ *Store) {
			tx, err := foreign(t, path).Begin()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { tx.Rollback() })
		}},
		{"damaged", ErrDamaged, func(t *testing.T, path string, s *Store) {
			setPragma(t, s, "PRAGMA wal_checkpoint(TRUNCATE)")
			setPragma(t, s, "PRAGMA shrink_memory")
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, _ := f.Stat()
			f.WriteAt([]byte(strings.Repeat("\xff", int(info.Size())-4096)), 4096)
		}},
		{"read-only", fs.ErrPermission, func(t *testing.T, _ string, s *Store) {
			s.frozen = &frozen{cause: &failure{"its directory cannot be written", fs.ErrPermission, sqlite3.Error{Code: sqlite3.ErrReadonly}}}
		}},
	}
}

func setPragma(t *testing.T, s *Store, statement string) {
	t.Helper()
	err := s.withWriter(context.Background(), func(x *tx) error { return x.query(statement, func(row) error { return nil }) })
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever an open database meets, the error names its file once, has its meaning once, and does not repeat itself. It named no file,
// and said "the file or its directory cannot be written" twice.
func TestErrorsOfAnOpenDatabase(t *testing.T) {
	for _, f := range faults() {
		path := filepath.Join(t.TempDir(), "crawl.db")
		s := openStore(t, path, func(o *Options) { o.Migrate = true })
		s.patience.wait = time.Millisecond
		ids := addFeeds(t, s, 200, "c")
		claims := claimAt(t, s, t0, ids[:2]...)
		var entries []Entry
		for _, c := range claims {
			entries = append(entries, success(c, t0, item(1, strings.Repeat("long ", 20_000))))
		}
		f.make(t, path, s)
		ctx := context.Background()
		_, merged := s.Merge(ctx, 1, entries, nil, t0)
		_, claimed := s.Claim(ctx, ids[2:], Lease{strings.Repeat("o", 5000), "boot", t0.Add(time.Minute)}, dueAt(t0))
		_, added := s.AddFeeds(ctx, []NewFeed{{URL: "https://new.example/" + strings.Repeat("x", 50_000), Category: "new"}}, t0)
		for what, err := range map[string]error{"merge": merged, "claim": claimed, "add": added} {
			if !errors.Is(err, f.is) {
				t.Errorf("%s, %s: %v", f.name, what, err)
				continue
			}
			if n := strings.Count(err.Error(), path); n != 1 {
				t.Errorf("%s, %s: names the file %d times: %v", f.name, what, n, err)
			}
			if strings.Contains(err.Error(), "new.example") {
				t.Errorf("%s, %s: shows a URL, in which there may be a secret", f.name, what)
			}
			if again := repeated(strings.Replace(err.Error(), path, "", 1)); again != "" {
				t.Errorf("%s, %s: says %q again: %v", f.name, what, again, err)
			}
		}
	}
}

var clauseEnd = regexp.MustCompile(`[:;\n] *`)

// repeated returns a part of an error that says what another part says.
func repeated(text string) string {
	seen := map[string]bool{}
	for _, part := range clauseEnd.Split(text, -1) {
		part = strings.Join(strings.Fields(part), " ")
		if seen[part] && part != "" {
			return part
		}
		seen[part] = true
	}
	return ""
}

// What was asked for and is not there is no fault of the database.
func TestErrorsOfTheRequestNameNoFile(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	_, notFound := s.FindFeed(ctx, "17")
	renamed := s.RenameCategory(ctx, "x", "y")
	cancel()
	_, cancelled := s.Categories(ctx)
	for what, err := range map[string]error{"find": notFound, "rename": renamed, "cancelled": cancelled} {
		if err == nil || strings.Contains(err.Error(), s.path) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
