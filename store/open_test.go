package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// foreign opens a database as another program would.
func foreign(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", (dsn(path, creating)))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

// fingerprint hashes all of a directory: names, sizes, modification times and contents. Nothing may have a database in it open,
// for reading the file would drop its locks.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Size(), info.Mode(), info.ModTime().UnixNano())
		if d.Type().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h.Write(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestPragmasOfEveryConnection(t *testing.T) {
	s := newStore(t)
	wanted := map[string]int64{"synchronous": 2, "foreign_keys": 1, "busy_timeout": 250, "trusted_schema": 0}
	for name, view := range map[string]func(context.Context, func(*tx) error) error{"reader": s.view, "writer": s.withWriter} {
		err := view(context.Background(), func(x *tx) error {
			for pragma, value := range wanted {
				if got, err := x.pragma(pragma); err != nil || got != value {
					t.Errorf("%s: %s is %d, %v; want %d", name, pragma, got, err, value)
				}
			}
			return x.query("PRAGMA journal_mode", func(r row) error {
				if r.text(0) != "wal" {
					t.Errorf("%s: journal mode %s", name, r.text(0))
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := s.view(context.Background(), func(x *tx) error { return x.run("DELETE FROM feeds") })
	if err == nil {
		t.Error("a reader can write")
	}
}

// A driver that ignored one of our parameters would be noticed: here synchronous is NORMAL.
func TestPragmaThatDidNotTakeIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := foreign(t, path, "PRAGMA synchronous = NORMAL")
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(dc any) error { return connector{path, writing}.settle(wrap(dc)) })
	if err == nil || !strings.Contains(err.Error(), "synchronous") {
		t.Errorf("got %v", err)
	}
}

func TestPathsWithCharactersThatMeanSomethingInURLs(t *testing.T) {
	for _, name := range []string{"a?b.db", "a#b.db", "a%41.db", "a b&c=d.db", "ü?mode=memory#%.db", "a%3fb.db", "-x;y.db"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		s := openStore(t, path, func(o *Options) { o.Migrate = true })
		addFeeds(t, s, 3, "c")
		s.Close()
		s = openStore(t, path)
		if n := dump(t, s, "SELECT count(*) FROM feeds"); n != "3\n" {
			t.Errorf("%s: %s feeds", name, n)
		}
		s.Close()
		entries, _ := os.ReadDir(dir)
		if len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%s: the directory holds %v", name, entries)
		}
	}
}

func TestRelativePath(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Open(context.Background(), "crawl.db", Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if !exists("crawl.db") {
		t.Error("no crawl.db here")
	}
}

// ours makes a database of ours, of many pages.
func ours(t *testing.T, path string) {
	s := openStore(t, path, func(o *Options) { o.Migrate = true })
	id := addFeeds(t, s, 50, "c")[0]
	var items []Item
	for n := range 200 {
		items = append(items, item(n, strings.Repeat("long ", 100)))
	}
	merge1(t, s, t0, success(claimOne(t, s, t0, id), t0, items...))
	s.Close()
}

// refusal is a file that Open does not take, and its errors with and without Migrate.
type refusal struct {
	name    string
	make    func(t *testing.T, path string)
	migrate error
	plain   error
}

func refusals() []refusal {
	return []refusal{
		{"missing", func(*testing.T, string) {}, nil, ErrOutdated},
		{"empty", func(t *testing.T, path string) { write(t, path, "") }, ErrDamaged, ErrDamaged},
		{"text", func(t *testing.T, path string) { write(t, path, strings.Repeat("some text\n", 1000)) }, ErrNotOurs, ErrNotOurs},
		{"short text", func(t *testing.T, path string) { write(t, path, "x") }, ErrNotOurs, ErrNotOurs},
		{"directory", func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, ErrNotOurs, ErrNotOurs},
		{"another program's", func(t *testing.T, path string) {
			foreign(t, path, "CREATE TABLE feeds (id)", "PRAGMA user_version = 1").Close()
		}, ErrNotOurs, ErrNotOurs},
		{"another program's in WAL mode", func(t *testing.T, path string) {
			foreign(t, path, "PRAGMA journal_mode = WAL", "PRAGMA application_id = 77", "CREATE TABLE t (id)").Close()
		}, ErrNotOurs, ErrNotOurs},
		{"another program's without tables", func(t *testing.T, path string) {
			foreign(t, path, "PRAGMA user_version = 1").Close()
		}, ErrNotOurs, ErrNotOurs},
		{"ours by its mark, without a version", func(t *testing.T, path string) {
			ours(t, path)
			foreign(t, path, "PRAGMA user_version = 0").Close()
		}, ErrDamaged, ErrDamaged},
		{"ours by its mark, with an impossible version", func(t *testing.T, path string) {
			ours(t, path)
			foreign(t, path, "PRAGMA user_version = -1").Close()
		}, ErrDamaged, ErrDamaged},
		{"only our mark", func(t *testing.T, path string) {
			foreign(t, path, fmt.Sprintf("PRAGMA application_id = %d", applicationID)).Close()
		}, ErrDamaged, ErrDamaged},
		{"ours by its tables", func(t *testing.T, path string) { // as .dump makes it
			ours(t, path)
			foreign(t, path, "PRAGMA user_version = 0", "PRAGMA application_id = 0").Close()
		}, ErrDamaged, ErrDamaged},
		{"newer", func(t *testing.T, path string) {
			ours(t, path)
			foreign(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1)).Close()
		}, ErrNewer, ErrNewer},
		{"zeroed", func(t *testing.T, path string) {
			ours(t, path)
			info, _ := os.Stat(path)
			write(t, path, strings.Repeat("\x00", int(info.Size())))
		}, ErrDamaged, ErrDamaged},
		{"truncated to a half", func(t *testing.T, path string) {
			ours(t, path)
			info, _ := os.Stat(path)
			os.Truncate(path, info.Size()/2/4096*4096)
		}, ErrDamaged, ErrDamaged},
		{"truncated within a page", func(t *testing.T, path string) {
			ours(t, path)
			os.Truncate(path, 4096*3+100)
		}, ErrDamaged, ErrDamaged},
		{"truncated within the header", func(t *testing.T, path string) {
			ours(t, path)
			os.Truncate(path, 60)
		}, ErrDamaged, ErrDamaged},
		{"a table wiped, without WAL", func(t *testing.T, path string) { // as VACUUM INTO makes a copy
			ours(t, path)
			db := foreign(t, path, "PRAGMA journal_mode = DELETE")
			var page int64
			if err := db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = 'former_urls'").Scan(&page); err != nil {
				t.Fatal(err)
			}
			db.Close()
			wipe(t, path, (page-1)*4096, 4096)
		}, ErrDamaged, ErrDamaged},
		{"schema wiped", func(t *testing.T, path string) {
			ours(t, path)
			wipe(t, path, 100, 3996)
		}, ErrDamaged, ErrDamaged},
	}
}

// Each file that is not ours to open is refused with the right error, and not a byte of its directory changes.
func TestOpenRefuses(t *testing.T) {
	for _, test := range refusals() {
		for _, migrate := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/migrate=%v", test.name, migrate), func(t *testing.T) {
				dir := t.TempDir()
				path := filepath.Join(dir, "crawl.db")
				test.make(t, path)
				before := fingerprint(t, dir)
				s, err := Open(context.Background(), path, Options{Migrate: migrate})
				wanted := test.plain
				if migrate {
					wanted = test.migrate
				}
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, wanted) || (wanted == nil) != (err == nil) {
					t.Errorf("got %v, want %v", err, wanted)
				}
				if err != nil && (!strings.Contains(err.Error(), path) || fingerprint(t, dir) != before) {
					t.Errorf("path not named, or the directory was changed: %v", err)
				}
			})
		}
	}
}

// wipe overwrites n bytes of a file.
func wipe(t *testing.T, path string, offset int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xff", n)), offset); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A newer program may have died so that its version is in the WAL only.
func TestNewerVersionInTheWAL(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.db")
	openStore(t, path, func(o *Options) { o.Migrate = true }).Close()
	db := foreign(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1))
	copied := t.TempDir()
	for _, name := range []string{"crawl.db", "crawl.db-wal"} { // as a crash leaves them
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(copied, name), string(b))
	}
	db.Close()
	before, _ := os.ReadFile(filepath.Join(copied, "crawl.db-wal"))
	_, err := Open(context.Background(), filepath.Join(copied, "crawl.db"), Options{Migrate: true})
	if !errors.Is(err, ErrNewer) {
		t.Errorf("got %v", err)
	}
	after, _ := os.ReadFile(filepath.Join(copied, "crawl.db-wal"))
	if string(before) != string(after) {
		t.Error("the WAL was touched")
	}
}

// Many processes and goroutines may open a database that does not exist yet. One makes it, all can use it, nothing is left over.
func TestManyFirstOpens(t *testing.T) {
	for n := range 6 {
		dir := t.TempDir()
		path := filepath.Join(dir, "crawl.db")
		if n%2 == 1 { // beside the -wal and -shm of a former one
			diedAt(t, path)
			os.Remove(path)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				s, err := Open(context.Background(), path, Options{Migrate: true})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := s.SetRanked(context.Background(), "c", true); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := openStore(t, path)
		want(t, "integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
		want(t, "categories", dump(t, s, "SELECT name, ranked FROM categories WHERE name = 'c'"), "c|1")
		s.Close()
		// Not before: of several that close at once each may see another, and then none takes the -wal away.
		if entries, _ := os.ReadDir(dir); len(entries) != 1+n%2*2 {
			t.Errorf("the directory holds %v", entries)
		}
	}
}

// A database holds passwords of feeds: only its owner may read it and what lies beside it. It was 0644.
func TestOnlyTheOwnerMayRead(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	s, err := Open(context.Background(), filepath.Join(dir, "crawl.db"), Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetRanked(context.Background(), "c", true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crawl.db", "crawl.db-wal", "crawl.db-shm"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, error %v", name, info.Mode(), err)
		}
	}
}
