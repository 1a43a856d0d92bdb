package cmd

import (
	"errors"
	"io"
	"syscall"
	"testing"
)

// deaf is an output that fails.
type deaf struct{ err error }

func (d deaf) Write([]byte) (int, error) { return 0, d.err }

// What went wrong with the rows is not hidden by what went wrong with their output; a reader that has seen enough is no error.
func TestPrintErrors(t *testing.T) {
	rows, full := errors.New("the database is damaged"), syscall.ENOSPC
	for _, test := range []struct{ rows, output, want error }{
		{nil, nil, nil}, {rows, nil, rows}, {nil, full, full}, {rows, full, rows}, {nil, syscall.EPIPE, nil}, {rows, syscall.EPIPE, rows},
	} {
		p := program{stdout: io.Discard}
		if test.output != nil {
			p.stdout = deaf{test.output}
		}
		got := p.print(func(w io.Writer) error {
			io.WriteString(w, "a row")
			return test.rows
		})
		if !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("rows %v, output %v: %v, want %v", test.rows, test.output, got, test.want)
		}
	}
}
