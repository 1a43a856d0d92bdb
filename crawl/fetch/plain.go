package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// plain makes the request of one hop over http and without a proxy in the goroutine that asks for it. A Transport has two more
// goroutines for each connection and one that dials, which cost as much as all else that a GET does outside the kernel. The
// answer is read by net/http here as well.
func (g *get) plain() (*http.Response, error) {
	host := g.url.Host
	if g.url.Port() == "" {
		host = net.JoinHostPort(g.url.Hostname(), "80")
	}
	conn, err := g.c.dial(g.ctx, "tcp", host)
	if err != nil {
		return nil, err
	}
	p := newPlainConn(g.ctx, conn)
	answer, err := g.exchange(p)
	if err != nil {
		p.Close()
		return nil, err
	}
	answer.Body = struct { // not that of net/http: closing it would read to its end
		io.Reader
		io.Closer
	}{answer.Body, p}
	return answer, nil
}

// exchange sends the request and reads the header of the answer, with those of 1xx answers before it.
func (g *get) exchange(p *plainConn) (*http.Response, error) {
	if g.gotConn(p.conn); g.before != nil {
		return nil, g.before
	}
	if err := p.conn.SetReadDeadline(time.Now().Add(g.c.o.HeaderTimeout)); err != nil {
		return nil, err
	}
	if _, err := p.conn.Write(g.message()); err != nil {
		return nil, err
	}
	for {
		answer, err := http.ReadResponse(p.reader, nil)
		if errors.Is(p.err, os.ErrDeadlineExceeded) { // which half a line hides
			return nil, p.err
		}
		if err != nil {
			return nil, err
		}
		if s := answer.StatusCode; s < 100 || s > 199 || s == http.StatusSwitchingProtocols {
			p.left = math.MaxInt64
			_ = p.conn.SetReadDeadline(time.Time{}) // fails if the connection is closed; reading what came before does not
			return answer, nil
		}
	}
}

// message is the request as it is sent.
func (g *get) message() []byte {
	var b bytes.Buffer
	b.Grow(512)
	b.WriteString("GET ")
	b.WriteString(g.url.RequestURI())
	b.WriteString(" HTTP/1.1\r\nHost: ")
	b.WriteString(g.url.Host)
	b.WriteString("\r\nConnection: close\r\n")
	for _, f := range g.fields() { // all of them were found to be fit for a header
		b.WriteString(f.name)
		b.WriteString(": ")
		b.WriteString(f.value)
		b.WriteString("\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// plainConn is a connection for one answer. Until left is raised it gives no more bytes than a header may have.
type plainConn struct {
	conn   net.Conn
	reader *bufio.Reader
	left   int64
	err    error       // of the last read
	stop   func() bool // ends the watch on the context
}

// readers are those of closed connections.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}

// newPlainConn closes the connection when ctx ends.
func newPlainConn(ctx context.Context, conn net.Conn) *plainConn {
	p := &plainConn{conn: conn, reader: readers.Get().(*bufio.Reader), left: maxHeader}
	p.reader.Reset(p)
	p.stop = context.AfterFunc(ctx, func() { conn.Close() })
	return p
}

// Read implements io.Reader.
func (p *plainConn) Read(b []byte) (int, error) {
	if p.left <= 0 {
		return 0, errLongHeader
	}
	var n int
	n, p.err = p.conn.Read(b[:min(int64(len(b)), p.left)])
	p.left -= int64(n)
	return n, p.err
}

// Close closes the connection. It may not be used afterwards.
func (p *plainConn) Close() error {
	p.stop()
	p.reader.Reset(nil)
	readers.Put(p.reader)
	p.reader = nil
	return p.conn.Close()
}
