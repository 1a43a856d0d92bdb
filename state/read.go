package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"syscall"
)

// reader goes through a snapshot file (complete) or part, line by line, and verifies each.
type reader struct {
	path     string
	in       *bufio.Reader
	close    func() error
	complete bool
	header   Header
	number   int   // of the last line read
	offset   int64 // where the next line begins
	count    int   // results so far
	long     []byte
}

// openReader opens a file and reads its header.
func openReader(path string, complete bool) (*reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, explain("open snapshot", path, err)
	}
	r := &reader{path: path, in: bufio.NewReaderSize(file, readSize), close: file.Close, complete: complete}
	if err := r.begin(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// begin reads the header.
func (r *reader) begin() error {
	line, _, err := r.line(maxHeader)
	var reason string
	if errors.Is(err, io.EOF) {
		reason = "no whole header"
	} else if err != nil {
		return err
	} else {
		r.header, reason = parseHeader(line)
	}
	if reason != "" {
		return &DamagedError{Path: r.path, Reason: reason}
	}
	return nil
}

func (r *reader) damaged(format string, args ...any) error {
	return &DamagedError{Path: r.path, Reason: fmt.Sprintf("line %d: ", r.number) + fmt.Sprintf(format, args...)}
}

// next returns the next result without its checksum, valid until the following call. io.EOF after the last: that is the
// closing line, of which all is right, or in a part whatever was not written whole.
func (r *reader) next() ([]byte, error) {
	start := r.offset
	line, last, err := r.line(MaxLine)
	if errors.Is(err, io.EOF) && r.complete {
		return nil, r.damaged("the closing line is missing")
	}
	if err != nil {
		return nil, err
	}
	body, ok := unseal(line)
	switch {
	case ok && isResult(line):
		r.count++
		return body, nil
	case ok && last && isClosing(line):
		return nil, r.end(line, start)
	case ok:
		return nil, r.damaged("not a result")
	case last && !r.complete:
		return nil, io.EOF
	}
	return nil, r.damaged("wrong checksum")
}

// end returns io.EOF if the closing line is right. A part that was closed but not yet renamed ends before it.
func (r *reader) end(line []byte, start int64) error {
	if !r.complete {
		return io.EOF
	}
	closing, reason := parseClosing(line, start, r.header)
	if reason != "" {
		return r.damaged("%s", reason)
	}
	if closing.Count != r.count {
		return r.damaged("%d results, and the closing line counts %d", r.count, closing.Count)
	}
	return io.EOF
}

// line returns the next line without its newline, valid until the following call, and whether it is the file's last.
// Bytes without a newline at the end of the file are no line: io.EOF.
func (r *reader) line(limit int) (line []byte, last bool, err error) {
	r.number++
	line, err = r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(r.long) <= limit {
			line, err = r.in.ReadSlice('\n')
			r.long = append(r.long, line...)
		}
		line = r.long
	}
	if len(line) > limit {
		return nil, false, r.damaged("over %d bytes", limit)
	}
	if err != nil {
		return nil, false, r.fault(err)
	}
	r.offset += int64(len(line))
	line = line[:len(line)-1]
	if r.in.Buffered() == 0 { // looking further would overwrite the line
		r.long = append(r.long[:0], line...)
		line = r.long
	}
	_, err = r.in.Peek(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, r.fault(err)
	}
	return line, err != nil, nil
}

// fault tells the end of the file and a bad sector, which is damage, from what another file would suffer too.
func (r *reader) fault(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if errors.Is(err, syscall.EIO) {
		return r.damaged("%v", err)
	}
	return explain("read snapshot", r.path, err)
}

// Read yields the lines of a snapshot or part in order, each verified by its checksum. A part's broken last line ends the
// sequence without error; any other damage yields a *DamagedError and ends it.
func (d *Dir) Read(info Info) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		r, err := openReader(info.Path, info.Complete)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer r.close()
		if !r.header.of(info.Header) {
			yield(Line{}, r.damaged("another header than when it was listed"))
			return
		}
		r.yield(yield)
	}
}

// yield yields the next results.
func (r *reader) yield(yield func(Line, error) bool) {
	for {
		body, err := r.next()
		if errors.Is(err, io.EOF) {
			return
		}
		var line Line
		if err == nil {
			if line, err = parseLine(body); err != nil {
				line, err = Line{}, r.damaged("%v", err)
			}
		}
		if !yield(line, err) || err != nil {
			return
		}
	}
}
