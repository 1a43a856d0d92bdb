package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"strconv"

	"github.com/mattn/go-sqlite3"
)

// Pragmas of every connection, read back after opening: an unknown parameter of a DSN is ignored in silence.
const (
	busyMillis     = 250  // SQLite's own wait; longer waits are ours, so that they can be ended
	checkpointSize = 4000 // pages of WAL before a commit moves them into the database
	writerCacheKiB = 16384
	walBytes       = 64 << 20 // what stays of a WAL that a long reader let grow
)

// access says what a connection is for.
type access string

const (
	reading   access = "ro"  // of a database in use
	writing   access = "rw"  // never creates the file
	creating  access = "rwc" // of a database that nobody else can see yet
	immutable access = "immutable"
)

// dsn names the file at an absolute path for the driver. It goes through url.URL since ?, # and % mean something there.
func dsn(path string, a access) string {
	q := url.Values{}
	q.Set("mode", string(a))
	q.Set("_busy_timeout", strconv.Itoa(busyMillis))
	q.Set("_foreign_keys", "on")
	q.Set("_synchronous", "FULL")
	q.Set("_txlock", "immediate")
	switch a {
	case immutable:
		q.Set("mode", "ro")
		q.Set("immutable", "1")
		fallthrough
	case reading:
		q.Set("_query_only", "on")
		q.Set("_txlock", "deferred")
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	return u.String()
}

// connector opens connections for database/sql.
type connector struct {
	path string
	access
}

// Driver is part of driver.Connector.
func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// Connect opens one connection and reads its pragmas back.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	dc, err := c.Driver().Open(dsn(c.path, c.access))
	if err != nil {
		return nil, mapped(c.path, err)
	}
	cn := wrap(dc)
	cn.path = c.path
	if err := c.settle(cn); err != nil {
		cn.Close()
		return nil, err
	}
	return cn, nil
}

func wrap(driverConn any) *conn {
	return &conn{SQLiteConn: driverConn.(*sqlite3.SQLiteConn), statements: map[string]*sqlite3.SQLiteStmt{}}
}

// pragma is a setting of a connection, and whether it has no parameter in a DSN and must be set.
type pragma struct {
	name  string
	value int64
	set   bool
}

func (a access) pragmas() []pragma {
	all := []pragma{
		{"busy_timeout", busyMillis, false},
		{"foreign_keys", 1, false},
		{"synchronous", 2, false}, // FULL: with WAL, NORMAL loses commits in a power cut
		{"trusted_schema", 0, true},
	}
	if a == reading || a == immutable {
		return append(all, pragma{"query_only", 1, false})
	}
	return append(all,
		pragma{"query_only", 0, false},
		pragma{"wal_autocheckpoint", checkpointSize, true},
		pragma{"journal_size_limit", walBytes, true},
		pragma{"cache_size", -writerCacheKiB, true})
}

// settle sets what has no parameter in a DSN, and reads back everything.
func (c connector) settle(cn *conn) error {
	t := &tx{ctx: context.Background(), conn: cn}
	for _, p := range c.pragmas() {
		if p.set {
			if _, err := cn.ExecContext(t.ctx, fmt.Sprintf("PRAGMA %s = %d", p.name, p.value), nil); err != nil {
				return fmt.Errorf("set pragma %s: %w", p.name, err)
			}
		}
		got, err := t.pragma(p.name)
		if err != nil {
			return err
		}
		if got != p.value {
			return fmt.Errorf("pragma %s is %d, not %d", p.name, got, p.value)
		}
	}
	return nil
}

// pragma reads a pragma that has a number.
func (t *tx) pragma(name string) (n int64, err error) {
	rows, err := t.QueryContext(t.ctx, "PRAGMA "+name, nil)
	if err != nil {
		return 0, fmt.Errorf("read pragma %s: %w", name, err)
	}
	defer rows.Close()
	r := make(row, len(rows.Columns()))
	if err := rows.Next(r); err != nil {
		return 0, fmt.Errorf("read pragma %s: %w", name, mapped(t.path, err))
	}
	return r.int(0), nil
}

// pool opens a database/sql pool of at most n connections. Nothing is opened before the first use.
func pool(path string, a access, n int) *sql.DB {
	db := sql.OpenDB(connector{path, a})
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db
}
