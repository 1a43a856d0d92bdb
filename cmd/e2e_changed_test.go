package cmd

import (
	"slices"
	"strings"
	"testing"
)

// One changed title is one row, one column, and one line in changes that names it; in every format.
func TestOneChangedTitleWritesOneColumn(t *testing.T) {
	t.Parallel()
	for n, format := range formats {
		s := newSite(t)
		for range 8 {
			s.add("News", 10)
		}
		w := newWorld(t, s)
		w.subscribe()
		w.silent(runAt(0), "run")
		before, contents := w.cells("items"), w.query("SELECT * FROM contents")
		last := w.number("SELECT max(seq) FROM changes")

		s.edit(func() { s.feeds[n].retitle(4, "Another title") })
		w.silent(runAt(1), "run")

		same(t, format+": contents", contents, w.query("SELECT * FROM contents"))
		changed := changedCells(before, w.cells("items"))
		for _, column := range changed {
			if !slices.Contains([]string{"title", "hash", "changed_at", "seq"}, column) {
				t.Fatalf("%s: column %s changed", format, column)
			}
		}
		if len(changed) > 4 || !slices.Contains(changed, "title") {
			t.Fatalf("%s: changed cells: %v", format, changed)
		}
		same(t, format+": changes", []string{"updated | Another title"}, w.query(
			"SELECT c.kind, i.title FROM changes c JOIN items i ON i.id = c.item_id WHERE c.seq > ?", last))
		columns := w.query("SELECT columns FROM changes WHERE seq > ?", last)[0]
		if strings.Trim(columns, `[]"`) != "title" {
			t.Fatalf("%s: the change names %s", format, columns)
		}
		w.converged(halfAt(1))
	}
}

// cells is a table as one line "id column value" for each cell.
func (w *world) cells(table string) []string {
	w.t.Helper()
	var list []string
	for _, column := range w.query("SELECT name FROM pragma_table_info(?)", table) {
		list = append(list, w.query(`SELECT id, '`+column+`', "`+column+`" FROM `+table)...)
	}
	return list
}

// changedCells names the column of each cell that is new or has another value.
func changedCells(before, after []string) []string {
	var list []string
	for _, line := range difference(before, after) {
		if strings.HasPrefix(line, "+ ") {
			list = append(list, strings.Split(line, " | ")[1])
		}
	}
	return list
}
