package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-sqlite3"
)

// inspect refuses a file that is not ours, newer or damaged, before anything opens it for writing.
//
// Without a WAL beside it the file is read as immutable, so that not even a -shm file appears. The header has our
// application_id from the start, so the WAL is needed for the version only. Where there is one, a crash may have left
// the file itself incomplete: then SQLite reads both, still without writing to them.
func (s *Store) inspect(ctx context.Context, path string) error {
	if !hasWAL(path) {
		err := s.inspectAs(ctx, path, immutable)
		if !hasWAL(path) || err == nil {
			return err
		}
	}
	err := s.inspectAs(ctx, path, reading)
	if errors.Is(err, ErrDamaged) && hasWAL(path) && s.inspectAs(ctx, path, immutable) == nil {
		return fmt.Errorf("without the -wal beside it, which may be that of another database, it can be read: %w", err)
	}
	return err
}

func hasWAL(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

func (s *Store) inspectAs(ctx context.Context, path string, a access) error {
	db := pool(path, a, 1)
	defer db.Close()
	var id, version, tables, ourTables int64
	err := s.patience.retry(ctx, func() error {
		return withConn(ctx, db, func(c *conn) (err error) {
			t := &tx{context.WithoutCancel(ctx), c}
			if id, err = t.pragma("application_id"); err != nil {
				return err
			}
			if version, err = s.version(t); err != nil && id == applicationID {
				return err
			}
			if tables, err = t.one("SELECT count(*) FROM sqlite_schema"); err != nil {
				return err
			}
			ourTables, err = t.one("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('feeds', 'items', 'changes', 'meta')")
			return err
		})
	})
	switch {
	case hasCode(err, sqlite3.ErrNotADB):
		return notADatabase(path, err)
	case err != nil:
		return err
	case id == applicationID && version <= 0, id != applicationID && ourTables == 4:
		return fmt.Errorf("it has %d tables and indexes, application_id %d and schema version %d, which do not go together "+
			"(a copy that was made with .dump has lost both numbers): %w", tables, id, version, ErrDamaged)
	case id != applicationID:
		return fmt.Errorf("its application_id is %d and it has %d tables and indexes: %w", id, tables, ErrNotOurs)
	}
	return nil
}

// CheckDamage gives ErrDamaged if it finds damage in one of the tables that are small. Those that grow with items are not read.
func (s *Store) CheckDamage(ctx context.Context) error {
	return s.view(ctx, (*tx).checkDamage)
}

func (t *tx) checkDamage() error {
	return t.query(`
		SELECT s.name, c.quick_check
		FROM sqlite_schema s, pragma_quick_check(s.name) c
		WHERE s.type = 'table'
		  AND s.name IN ('meta', 'categories', 'feeds', 'former_urls', 'merged', 'runs', 'steps', 'sqlite_sequence')
		  AND c.quick_check <> 'ok'`,
		func(r row) error {
			said := strings.Split(r.text(1), "\n")
			if len(said) > 1 {
				said = said[1:] // without the headline
			}
			return fmt.Errorf("%w: table %s: %s", ErrDamaged, r.text(0), said[0])
		})
}

// notADatabase tells a file whose beginning was wiped from one that never was a database. SQLite has refused the file, so that
// no lock of this process can be lost by opening it.
func notADatabase(path string, err error) error {
	f, e := os.Open(path)
	if e != nil {
		return e
	}
	defer f.Close()
	header := make([]byte, 16)
	if _, e := f.Read(header); e != nil {
		return e
	}
	if string(header) == string(make([]byte, 16)) {
		return fmt.Errorf("its beginning was overwritten with zeros: %w", ErrDamaged)
	}
	if errors.Is(err, ErrNotOurs) {
		return err
	}
	return fmt.Errorf("it is no SQLite file: %w", ErrNotOurs)
}
