package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const schemaQuery = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"

// From nothing and from every version that was released, the schema is the declared one: that of a new database.
func TestMigrateFromEveryVersion(t *testing.T) {
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) != schemaVersion {
		t.Fatalf("%d migrations, but the schema version is %d", len(scripts), schemaVersion)
	}
	fresh := newStore(t)
	declared := dump(t, fresh, schemaQuery)
	for _, table := range []string{"categories", "feeds", "items", "contents", "changes", "positions", "merged", "runs", "fetches", "steps"} {
		if !strings.Contains(declared, "table|"+table+"|") {
			t.Errorf("no table %s", table)
		}
	}
	want(t, "strict tables", dump(t, fresh, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict = 0 AND name NOT LIKE 'sqlite_%'"), "0")
	for version := range len(scripts) + 1 {
		path := filepath.Join(t.TempDir(), "crawl.db")
		if version > 0 {
			buildVersion(t, path, scripts[:version])
		}
		s := openStore(t, path, func(o *Options) { o.Migrate = true })
		if got := dump(t, s, schemaQuery); got != declared {
			t.Errorf("from version %d:\n%s\nwant:\n%s", version, got, declared)
		}
		want(t, "version", dump(t, s, "PRAGMA user_version"), fmt.Sprint(schemaVersion))
	}
}

// buildVersion makes a database as an older program had left it.
func buildVersion(t testing.TB, path string, scripts []string) {
	t.Helper()
	s := &Store{o: Options{Point: func(string) {}}, patience: Options{}.patience()}
	if err := s.buildWith(context.Background(), path, scripts); err != nil {
		t.Fatal(err)
	}
}

// A migration that fails leaves the version before it; the next one begins there.
func TestMigrationIsOneTransaction(t *testing.T) {
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "crawl.db")
	s := &Store{o: Options{Point: func(string) {}}, patience: Options{}.patience()}
	broken := "CREATE TABLE half (id INTEGER) STRICT; CREATE TABLE half (id INTEGER) STRICT;"
	if err := s.buildWith(context.Background(), path, append(scripts, broken)); err == nil {
		t.Fatal("no error")
	}
	db := foreign(t, path)
	var version, tables int
	err = db.QueryRow("SELECT user_version, (SELECT count(*) FROM sqlite_schema WHERE name = 'half') FROM pragma_user_version").Scan(&version, &tables)
	if err != nil || version != len(scripts) || tables != 0 {
		t.Errorf("version %d, %d tables half, %v", version, tables, err)
	}
	db.Close()
	if err := s.buildWith(context.Background(), path, append(scripts, "CREATE TABLE whole (id INTEGER) STRICT")); err != nil {
		t.Error(err)
	}
}

// A database that was made but not yet turned to WAL when its maker died needs Migrate, and then works.
func TestOutdatedIsNotTouched(t *testing.T) {
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.db")
	buildVersion(t, path, scripts)
	before := fingerprint(t, dir)
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrOutdated) {
		t.Errorf("got %v", err)
	}
	if fingerprint(t, dir) != before {
		t.Error("the directory was changed")
	}
	s := openStore(t, path, func(o *Options) { o.Migrate = true })
	want(t, "journal mode", dump(t, s, "PRAGMA journal_mode"), "wal")
}

// Whoever dies while it makes the database leaves none, and the next one starts anew with what is left over.
func TestKilledWhileCreating(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.db")
	killed(t, path, "migrate-mid")
	if exists(path) {
		t.Error("there is a database")
	}
	if !exists(path + fresh) {
		t.Error("nothing is left over: the test proves nothing")
	}
	s := openStore(t, path, func(o *Options) { o.Migrate = true })
	want(t, "integrity", dump(t, s, "PRAGMA integrity_check"), "ok")
	s.Close()
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

// Between giving the database its name and removing the other one a crash leaves both.
func TestKilledAfterLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crawl.db")
	scripts, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	buildVersion(t, path+fresh, scripts)
	if err := os.Link(path+fresh, path); err != nil {
		t.Fatal(err)
	}
	openStore(t, path, func(o *Options) { o.Migrate = true }).Close()
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}
