package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mattn/go-sqlite3"
)

// conn is one connection with the statements that were prepared on it.
type conn struct {
	*sqlite3.SQLiteConn
	path       string // for messages
	statements map[string]*sqlite3.SQLiteStmt
	args       []driver.NamedValue
}

// maxStatements bounds the statements kept by one connection; the texts of updates vary with the columns that changed.
const maxStatements = 300

// prepare returns the statement for a query, prepared at its first use.
func (c *conn) prepare(query string) (*sqlite3.SQLiteStmt, error) {
	if st := c.statements[query]; st != nil {
		return st, nil
	}
	if len(c.statements) >= maxStatements {
		c.forget()
	}
	st, err := c.SQLiteConn.Prepare(query)
	if err != nil {
		return nil, mapped(c.path, err)
	}
	c.statements[query] = st.(*sqlite3.SQLiteStmt)
	return c.statements[query], nil
}

// ExecContext runs statements that are not kept.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	res, err := c.SQLiteConn.ExecContext(ctx, query, args)
	return res, mapped(c.path, err)
}

// QueryContext runs a query that is not kept.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.SQLiteConn.QueryContext(ctx, query, args)
	return rows, mapped(c.path, err)
}

// forget closes all statements.
func (c *conn) forget() {
	for query, st := range c.statements {
		st.Close()
		delete(c.statements, query)
	}
}

// Close closes the statements, then the connection.
func (c *conn) Close() error {
	c.forget()
	return c.SQLiteConn.Close()
}

// named numbers the arguments of a statement, in a slice that the next call uses again.
func (c *conn) named(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// tx runs statements on one connection. In update they are one transaction.
type tx struct {
	ctx context.Context // one that cannot be cancelled while writing
	*conn
}

// exec runs a statement and returns the number of rows that it changed.
func (t *tx) exec(query string, args ...driver.Value) (int64, error) {
	st, err := t.prepare(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, t.named(args))
	if err != nil {
		return 0, mapped(t.path, err)
	}
	return res.RowsAffected()
}

// run runs a statement that returns nothing. It is cheaper than exec: the arguments go to SQLite in one call.
func (t *tx) run(query string, args ...driver.Value) error {
	st, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(t.ctx, t.named(args))
	if err != nil {
		return mapped(t.path, err)
	}
	return mapped(t.path, rows.Close())
}

// errStop ends a query early without an error.
var errStop = errors.New("stop")

// query runs a statement and hands each row to f, to the end or until f returns an error. A statement with RETURNING keeps
// the write lock until it is closed, which is done here before query returns.
func (t *tx) query(query string, f func(row) error, args ...driver.Value) (err error) {
	st, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(t.ctx, t.named(args))
	if err != nil {
		return mapped(t.path, err)
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = mapped(t.path, e)
		}
	}()
	r := make(row, len(rows.Columns()))
	for {
		if err := rows.Next(r); err == io.EOF {
			return nil
		} else if err != nil {
			return mapped(t.path, err)
		}
		if err := f(r); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// one reads the single integer that a query returns; 0 if it returns no row or NULL.
func (t *tx) one(query string, args ...driver.Value) (n int64, err error) {
	err = t.query(query, func(r row) error {
		n = r.int(0)
		return errStop
	}, args...)
	return n, err
}

// row is one row of a result.
type row []driver.Value

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) bool(i int) bool { return r.int(i) != 0 }

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) bytes(i int) []byte {
	b, _ := r[i].([]byte)
	return b
}

// time reads a time; what is no time reads as unknown, for people may write here with SQL.
func (r row) time(i int) time.Time {
	s, ok := r[i].(string)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// json reads a JSON text into v; NULL leaves it as it is.
func (r row) json(i int, v any) error {
	s := r.text(i)
	if s == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("read JSON column: %w", err)
	}
	return nil
}
