package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// diedAt puts what a killed process leaves at path: a database whose latest changes, some of them of its schema, are in the -wal only.
func diedAt(t *testing.T, path string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "crawl.db")
	s := openStore(t, source, func(o *Options) { o.Migrate = true })
	for n := range 41 {
		if n == 40 {
			setPragma(t, s, "PRAGMA wal_checkpoint(TRUNCATE)")
		}
		err := s.withWriter(context.Background(), func(x *tx) error {
			return x.run(fmt.Sprintf("CREATE TABLE later_%d (%s) STRICT", n, strings.Repeat("a_long_name", 20)+" TEXT"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	addFeeds(t, s, 100, "c")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(source + suffix)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path+suffix, string(b))
	}
	s.Close()
}

// The -wal of a database that is gone was played into the new one that took its name, which was damaged from then on.
func TestNewDatabaseBesideAnOldWAL(t *testing.T) {
	for _, left := range [][]string{{"-wal", "-shm"}, {"-wal"}, {"-shm"}, {"-journal"}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "crawl.db")
		diedAt(t, path)
		os.Remove(path)
		before := map[string]string{}
		for _, suffix := range []string{"-wal", "-shm", "-journal"} {
			if !slices.Contains(left, suffix) {
				os.Remove(path + suffix)
				continue
			}
			if suffix == "-journal" {
				write(t, path+suffix, "of a former database")
			}
			before[suffix] = content(t, path+suffix)
		}
		if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrOutdated) || !exists(path+left[0]) {
			t.Fatalf("%v: without Migrate: %v", left, err)
		}
		moved := map[string]string{}
		s := openStore(t, path, func(o *Options) {
			o.Migrate = true
			o.MovedAside = func(from, to string) { moved[strings.TrimPrefix(from, path)] = to }
		})
		want(t, "integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
		want(t, "feeds", dump(t, s, "SELECT count(*) FROM feeds"), "0")
		addFeeds(t, s, 3, "c")
		s.Close()
		for suffix, was := range before {
			if to := moved[suffix]; !strings.HasPrefix(to, path+suffix+".old-") || content(t, to) != was {
				t.Errorf("%v: %s is not whole at %q", left, suffix, to)
			}
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1+len(left) {
			t.Errorf("%v: the directory holds %v", left, entries)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A backup that was put beside the -wal of the damaged database is damaged at every try: the error says what to do, and nothing is
// touched. It said only that the schema is malformed.
func TestBackupBesideAnOldWAL(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.db")
	diedAt(t, path)
	backup := filepath.Join(t.TempDir(), "crawl.db")
	openStore(t, backup, func(o *Options) { o.Migrate = true }).Close()
	write(t, path, content(t, backup))
	os.Remove(path + "-shm")
	before := content(t, path) + content(t, path+"-wal")
	for _, migrate := range []bool{true, false, true} {
		_, err := Open(context.Background(), path, Options{Migrate: migrate})
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("got %v", err)
		}
		for _, part := range []string{"without the -wal beside it", "crawl.db, crawl.db-wal and crawl.db-shm belong together: move all three away"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not say %q", err, part)
			}
		}
		if content(t, path)+content(t, path+"-wal") != before {
			t.Error("database or -wal was changed")
		}
	}
	os.Remove(path + "-wal")
	os.Remove(path + "-shm")
	openStore(t, path)
}

// SQLite keeps the -wal beside the file to which a link leads: it was not found beside the link.
func TestLinkToADatabase(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "real.db"), filepath.Join(t.TempDir(), "crawl.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), link, Options{Migrate: true}); err == nil || !strings.Contains(err.Error(), "symbolic link") || exists(path) {
		t.Errorf("a link to nothing: %v", err)
	}
	diedAt(t, path)
	err := foreign(t, path, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion+1)).Ping()
	if err != nil || !hasWAL(path) {
		t.Fatal("no -wal:", err)
	}
	if _, err := Open(context.Background(), link, Options{Migrate: true}); !errors.Is(err, ErrNewer) {
		t.Errorf("got %v", err)
	}
}
