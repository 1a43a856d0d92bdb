package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// read reads, bounds and decodes the answer's body into r. A body that does not arrive whole gives what arrived, and
// r.Truncated; only a GET that ended without any of it gives an error.
func (g *get) read(answer *http.Response, r *Response) error {
	wire, err := g.wire(answer, r)
	if err != nil {
		return err
	}
	body, err := g.decode(wire, codings(answer.Header), r)
	if err != nil {
		return err
	}
	if int64(len(body)) > g.c.o.MaxBody {
		body = body[:g.c.o.MaxBody]
		r.cut(KindTooLarge, "the body is larger than "+size(g.c.o.MaxBody))
	}
	r.Body, r.hold = body, g.hold
	return nil
}

// cut notes why a body is not whole; the first reason stays.
func (r *Response) cut(kind Kind, why string) {
	if r.Truncated == "" {
		r.Truncated, r.TruncatedKind = why, kind
	}
}

// wire reads the body as it comes, up to one byte over the limit.
func (g *get) wire(answer *http.Response, r *Response) ([]byte, error) {
	most := g.c.o.MaxBody + 1
	w := g.watch()
	defer w.timer.Stop()
	first := int64(2 * smallest)
	if n := answer.ContentLength; n >= 0 { // believed, but not far: what claims to be large has to show it
		first = min(n+1, 8*smallest)
	}
	b, err := g.buffer(min(first, most), w.pause)
	if err != nil {
		return nil, g.starved(err)
	}
	for int64(len(b)) < most {
		if len(b) == cap(b) {
			if b, err = g.grow(b, min(2*int64(cap(b)), most), w.pause); err != nil {
				return nil, g.starved(err)
			}
		}
		n, err := answer.Body.Read(b[len(b):min(int64(cap(b)), most)])
		b = b[:len(b)+n]
		w.arrived.Add(int64(n))
		g.bytes += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return b, g.broken(err, r)
		}
	}
	return b, nil
}

// grow moves a buffer's bytes to a larger one.
func (g *get) grow(b []byte, n int64, waits func(bool)) ([]byte, error) {
	larger, err := g.buffer(n, waits)
	if err != nil {
		return nil, err
	}
	larger = append(larger, b...)
	g.hold.discard(b)
	return larger, nil
}

// broken judges a body that ended before its end.
func (g *get) broken(err error, r *Response) error {
	if ended := g.ended(); ended != nil {
		return ended
	}
	if g.stopwatch.wait <= 0 { // the memory came when it was too late
		return g.starved(err)
	}
	kind, why := KindTruncated, fmt.Sprintf("the body broke off after %d bytes", g.bytes)
	switch cause := context.Cause(g.ctx); {
	case errors.Is(cause, errTotal):
		kind, why = KindTimeout, "the body did not end within "+g.c.o.Timeout.String()
	case errors.Is(cause, errSlow):
		kind, why = KindTimeout, fmt.Sprintf("the body came slower than %s in %s", size(g.c.slow.bytes), g.c.slow.window)
	case errors.Is(err, errLongAnswer):
		kind, why = KindTooLarge, "the answer is larger than that of any body of "+size(g.c.o.MaxBody)
	case errors.Is(cause, errObstructs):
		kind, why = KindTimeout, fmt.Sprintf("the body came slower than %s in %s while others waited for its memory",
			size(g.c.slow.crowded), g.c.slow.window)
	}
	if kind == KindTimeout && g.bytes == 0 {
		return g.fail(kind, why, err)
	}
	r.cut(kind, why)
	return nil
}

// starved is the error of a GET that ended while it waited for memory: our own doing, not the server's.
func (g *get) starved(err error) error {
	if ended := g.ended(); ended != nil {
		return ended
	}
	e := g.fail(KindTimeout, "no memory became free for the body within "+g.c.o.Timeout.String(), err)
	e.Local, e.Starved = true, true
	return e
}

// stopwatch bounds a GET's own time, and apart from it the time for which it waits for memory: others hold that, not the server.
type stopwatch struct {
	timer     *time.Timer
	since     time.Time     // it last changed between the two
	own, wait time.Duration // that are left
}

// startClock begins a part of the GET, and stopClock ends it.
func (g *get) startClock() {
	cancel := g.cancel
	g.stopwatch.since = time.Now()
	g.stopwatch.timer = time.AfterFunc(g.stopwatch.own, func() { cancel(errTotal) })
}

func (g *get) stopClock() {
	g.stopwatch.timer.Stop()
	g.stopwatch.own -= time.Since(g.stopwatch.since)
}

// ownTime is how long the GET has taken so far, without its waits.
func (g *get) ownTime() time.Duration {
	return g.c.o.Timeout - g.stopwatch.own + time.Since(g.stopwatch.since)
}

// clock says that waiting for memory begins, or ends.
func (g *get) clock(waiting bool) {
	s := &g.stopwatch
	used := time.Since(s.since)
	s.since = s.since.Add(used)
	if waiting {
		s.own -= used
		s.timer.Reset(s.wait)
	} else {
		s.wait -= used
		s.timer.Reset(s.own)
	}
}

// rate is what a body must bring: so many bytes in each window, and where others wait for the memory that it holds, more.
type rate struct {
	bytes, crowded int64
	window         time.Duration
}

// watch ends a GET whose body drips.
type watch struct {
	g       *get
	timer   *time.Timer
	arrived atomic.Int64 // in this window
	paused  atomic.Bool  // we wait for memory, so it is not the server that is slow
}

func (g *get) watch() *watch {
	w := &watch{g: g}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Reset(g.c.slow.window)
	return w
}

// look ends the window and begins the next.
func (w *watch) look() {
	switch n, slow := w.arrived.Swap(0), w.g.c.slow; {
	case w.paused.Load():
		return
	case n < slow.bytes:
		w.g.cancel(errSlow)
		return
	case n < slow.crowded && w.g.hold.obstructs():
		w.g.cancel(errObstructs)
		return
	}
	w.timer.Reset(w.g.c.slow.window)
}

// pause stops the watch while the GET waits for memory; a whole window begins after it, for one that ended with the wait would find
// that nothing had arrived.
func (w *watch) pause(waits bool) {
	w.paused.Store(waits)
	if waits {
		w.timer.Stop()
	} else {
		w.timer.Reset(w.g.c.slow.window)
	}
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
