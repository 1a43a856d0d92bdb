package cmd

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// isTerminal says whether a stream is a terminal.
func (p program) isTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// canDraw says whether a stream is a terminal that can move its cursor.
func (p program) canDraw(stream any) bool {
	kind, _ := p.env("TERM")
	return kind != "dumb" && p.isTerminal(stream)
}

// print gives a command a buffered standard output and flushes it. A reader that has seen enough (head) is no error.
func (p program) print(write func(w io.Writer) error) error {
	w := bufio.NewWriterSize(p.stdout, 1<<16)
	err := write(w)
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// printJSON prints one value, indented, on standard output.
func (p program) printJSON(value any) error {
	return p.print(func(w io.Writer) error {
		e := newJSON(w)
		e.SetIndent("", "  ")
		return e.Encode(value)
	})
}

// newJSON encodes without HTML escapes, and without any raw character that could steer a terminal.
func newJSON(w io.Writer) *json.Encoder {
	e := json.NewEncoder(jsonWriter{w})
	e.SetEscapeHTML(false)
	return e
}

// table is rows of cells, the first row its head. Cells are cleaned when they are printed.
type table struct {
	rows  [][]string
	whole bool // lines may be wider than the terminal
}

func newTable(head ...string) *table { return &table{rows: [][]string{head}} }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print aligns the columns. On a terminal a line is cut at its width, elsewhere nothing is.
func (t *table) print(p program) error {
	return p.print(func(w io.Writer) error { return t.write(w, p.width()) })
}

// width is how many columns the terminal has, 0 where standard output is none.
func (p program) width() int {
	if !p.isTerminal(p.stdout) {
		return 0
	}
	columns, _, _ := term.GetSize(int(p.stdout.(*os.File).Fd())) // 0 if it cannot be known
	return columns
}

// narrow keeps a long text from pushing the columns after it out of sight.
func narrow(s string) string { return runewidth.Truncate(clean(s), 60, "…") }

func (t *table) write(w io.Writer, widest int) error {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			row[i] = clean(cell)
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-runewidth.StringWidth(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if widest > 0 && !t.whole {
			text = runewidth.Truncate(text, widest, "…")
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

// nullText is text in JSON: null where it is unknown.
func nullText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nullTime is a time in JSON: whole seconds, UTC, null where it is unknown.
func nullTime(t time.Time) *string { return nullText(stamp(t)) }

// stamp is a time as RFC 3339 UTC, "" if unknown.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// dash is a cell that is never empty.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
