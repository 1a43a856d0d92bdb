package fetch

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestDrippersAndSmallBodies: bodies that are large at once and then drip filled the memory, and small ones waited until their time was
// over. They do not wait any more, and the drippers are ended as slow, one
// after the other.
func TestDrippersAndSmallBodies(t *testing.T) {
	large, small := strings.Repeat("x", 9<<18), strings.Repeat("x", 400_000)
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, nil, nil)
		c.o.MaxBody = 4 << 20
		c.memory = newMemory(32<<20, c.o.MaxBody)
		fresh := newMemory(32<<20, c.o.MaxBody)
		answers := func(answer func(net.Conn)) *Client {
			of := pipeClient(t, nil, answer)
			of.o, of.memory = c.o, c.memory
			return of
		}
		dripper := answers(after(head200+"\r\n"+large, every(time.Second, strings.Repeat("x", 2000))))
		victim := answers(func(c net.Conn) { io.WriteString(c, head200+"\r\n"+small) })
		var all sync.WaitGroup
		var ended atomic.Int32
		for range 12 {
			all.Go(func() {
				r, err := dripper.Get(t.Context(), Request{URL: "http://a.example/"})
				switch {
				case err == nil && r.TruncatedKind == KindTimeout:
					ended.Add(1)
				case err != nil && asError(t, err).Local: // it waited for other drippers all the time
				default:
					t.Errorf("a dripper: %v %v", r, err)
				}
				r.Release()
			})
		}
		time.Sleep(time.Second) // let them fill it
		began := time.Now()
		for range 40 {
			all.Go(func() {
				r, err := victim.Get(t.Context(), Request{URL: "http://a.example/"})
				if took := time.Since(began); err != nil || len(r.Body) != len(small) || r.Truncated != "" || took > time.Second {
					t.Errorf("a small body, after %v: %v %v", took, r, err)
				}
				r.Release()
			})
		}
		all.Wait()
		if ended.Load() < 3 {
			t.Errorf("%d drippers were ended", ended.Load())
		}
		if !c.memory.unused(fresh) {
			t.Errorf("memory %+v", c.memory)
		}
		time.Sleep(time.Minute) // for the server to notice
	})
}

// TestWaitForMemoryIsNotCharged: a GET that had to wait has as much time for its body as any other.
func TestWaitForMemoryIsNotCharged(t *testing.T) {
	const part = 20_000
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, nil, func(c net.Conn) {
			io.WriteString(c, head200+"\r\n")
			for range 5 {
				time.Sleep(5 * time.Second)
				io.WriteString(c, strings.Repeat("x", part))
			}
		})
		c.memory = newMemory(1, c.o.MaxBody)
		held, err := c.Get(t.Context(), Request{URL: "http://a.example/"})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Second, held.Release)
		r, err := c.Get(t.Context(), Request{URL: "http://a.example/"})
		if err != nil || r.Truncated != "" || len(r.Body) != 5*part {
			t.Errorf("%v %v", r, err)
		}
		r.Release()
	})
}
