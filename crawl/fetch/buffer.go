package fetch

import (
	"math/bits"
	"sync"
)

// Bodies live in buffers whose sizes are powers of two from smallest to largestKept, used again by later GETs; larger ones are
// left to the garbage collector.
const (
	smallest    = 32 << 10
	largestKept = 1 << 20
)

// kept has a pool for each size.
var kept [6]sync.Pool

// bufferSize is the size of the buffer that holds n bytes.
func bufferSize(n int64) int64 {
	if n > largestKept {
		return n
	}
	return smallest << class(n)
}

// class is the index in kept of buffers that hold n bytes.
func class(n int64) int { return bits.Len64(uint64(max(n, 1)-1) / smallest) }

// buffer takes room for at least n bytes out of the memory bound, waiting for it if it must, and makes it a buffer.
func (g *get) buffer(n int64, waits func(bool)) ([]byte, error) {
	n = bufferSize(n)
	err := g.hold.take(g.ctx, n, func(waiting bool) {
		g.clock(waiting)
		waits(waiting)
	})
	if err != nil {
		return nil, err
	}
	if n <= largestKept {
		if b, ok := kept[class(n)].Get().(*[]byte); ok {
			return (*b)[:0], nil
		}
	}
	return make([]byte, 0, n), nil
}

// discard gives a buffer's memory back.
func (h *hold) discard(b []byte) {
	recycle(b)
	h.give(int64(cap(b)))
}

// recycle keeps a buffer for a later GET.
func recycle(b []byte) {
	n := int64(cap(b))
	if n >= smallest && n <= largestKept && n == bufferSize(n) {
		b = b[:0]
		kept[class(n)].Put(&b)
	}
}
