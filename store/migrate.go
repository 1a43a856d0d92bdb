package store

import (
	"context"
	"embed"
	"fmt"
	"path"
)

// applicationID marks the file as ours ("crwl"); it is in the file's header from its first moment on.
const applicationID = 0x6372776c

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the scripts in order; the n-th brings the schema to user_version n. They are append-only.
func migrations() ([]string, error) {
	entries, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var scripts []string
	for _, e := range entries {
		b, err := migrationFiles.ReadFile(path.Join("migrations", e.Name()))
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(b))
	}
	return scripts, nil
}

// schemaVersion is the user_version that this program knows.
const schemaVersion = 1

// migrate brings the schema up to date, each migration in one transaction with its user_version. Many may try at once.
func (s *Store) migrate(t *tx, scripts []string) error {
	for version := range scripts {
		script := scripts[version]
		err := s.patience.retry(t.ctx, func() error {
			_, err := t.ExecContext(t.ctx, "BEGIN IMMEDIATE", nil)
			return err
		})
		if err != nil {
			return err
		}
		err = t.finish(func(t *tx) error { return s.migrateTo(t, int64(version)+1, script) })
		if err != nil {
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	return nil
}

// migrateTo runs one script unless it was run before.
func (s *Store) migrateTo(t *tx, version int64, script string) error {
	have, err := t.pragma("user_version")
	if err != nil || have >= version {
		return err
	}
	if have != version-1 {
		return fmt.Errorf("found version %d", have)
	}
	mark := fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version)
	if _, err := t.ExecContext(t.ctx, mark, nil); err != nil {
		return err
	}
	s.o.Point("migrate-mid")
	_, err = t.ExecContext(t.ctx, script, nil)
	return err
}

// ready brings an existing database of ours to what this program needs: the newest schema, and WAL. A damaged one is left as it is.
func (s *Store) ready(ctx context.Context) error {
	return withConn(ctx, s.writer, func(c *conn) error {
		t := &tx{context.WithoutCancel(ctx), c}
		version, err := s.version(t)
		if err != nil {
			return err
		}
		wal, err := s.isWAL(t)
		if err != nil {
			return err
		}
		if version == schemaVersion && wal {
			return nil
		}
		if err := t.checkDamage(); err != nil {
			return err
		}
		if !s.o.Migrate {
			return ErrOutdated
		}
		if !wal {
			if err := s.toWAL(t); err != nil {
				return err
			}
		}
		scripts, err := migrations()
		if err != nil {
			return err
		}
		return s.migrate(t, scripts)
	})
}

func (s *Store) version(t *tx) (version int64, err error) {
	err = s.patience.retry(t.ctx, func() error {
		version, err = t.pragma("user_version")
		return err
	})
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("%w: it has schema version %d, this program knows %d", ErrNewer, version, schemaVersion)
	}
	return version, err
}

func (s *Store) isWAL(t *tx) (wal bool, err error) {
	err = s.patience.retry(t.ctx, func() error {
		return t.query("PRAGMA journal_mode", func(r row) error {
			wal = r.text(0) == "wal"
			return nil
		})
	})
	return wal, err
}

// toWAL converts the database. When several do so at the same moment all but one fail at once whatever the timeout is:
// hence the new try, which begins with a look at the mode.
func (s *Store) toWAL(t *tx) error {
	return s.patience.retry(t.ctx, func() error {
		mode := ""
		err := t.query("PRAGMA journal_mode = WAL", func(r row) error {
			mode = r.text(0)
			return nil
		})
		if err == nil && mode != "wal" {
			err = fmt.Errorf("this file system cannot do WAL: journal mode is %s", mode)
		}
		return err
	})
}
