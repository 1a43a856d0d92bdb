package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// unpacked decodes b with the given names, as Get does.
func unpacked(t testing.TB, c *Client, b string, names ...string) *Response {
	g := &get{c: c, ctx: t.Context(), parent: t.Context(), hold: &hold{m: c.memory}}
	wire, err := g.buffer(int64(len(b)), func(bool) {})
	if err != nil {
		t.Fatal(err)
	}
	r := &Response{Status: 200}
	if r.Body, err = g.decode(append(wire, b...), names, r); err != nil {
		t.Fatal(err)
	}
	r.hold = g.hold
	return r
}

// TestCutAtEveryByte: wherever a packed body is cut off, what is given is a beginning of it, and not called whole.
func TestCutAtEveryByte(t *testing.T) {
	c := newClient(t, nil)
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		fmt.Fprintf(&text, "<item>%x</item>\n", random.Uint64())
	}
	document := text.String()
	for _, coding := range []string{"gzip", "br", "zstd", "zlib"} {
		whole := packed(coding, document)
		name := map[string]string{"br": "br", "zlib": "deflate"}[coding]
		gave := 0
		for n := 4; n <= len(whole); n++ {
			r := unpacked(t, c, whole[:n], name)
			if r.TruncatedKind == "" != (n == len(whole)) {
				t.Fatalf("%s cut at %d of %d: truncated %q, %d bytes", coding, n, len(whole), r.Truncated, len(r.Body))
			}
			if !strings.HasPrefix(document, string(r.Body)) {
				t.Fatalf("%s cut at %d of %d: gave what is not there: %.40q", coding, n, len(whole), r.Body)
			}
			gave = max(gave, len(r.Body)*map[bool]int{true: 1}[n < len(whole)-10])
			r.Release()
		}
		if coding != "zstd" && gave < len(document)/2 { // a small document is one block of zstd
			t.Errorf("%s: never more than %d of %d bytes were saved", coding, gave, len(document))
		}
	}
}

// TestWrongGuess: gzip's own word on its size is not trusted.
func TestWrongGuess(t *testing.T) {
	c := newClient(t, func(o *Options) { o.MaxBody = 4 << 20 })
	document := strings.Repeat("<item/>", 200_000)
	whole := packed("gzip", document)
	for _, size := range []string{"\x00\x00\x00\x00", "\xff\xff\xff\xff", "\x01\x00\x00\x00", "\xff\xff\x0f\x00"} {
		r := unpacked(t, c, cutEnd(whole, 4)+size) // the checksum over the size is wrong then, too
		if string(r.Body) != document {
			t.Errorf("size %q: %d bytes, want %d", size, len(r.Body), len(document))
		}
		r.Release()
	}
}

func TestIsText(t *testing.T) {
	for s, want := range map[string]bool{
		"<rss>": true, "\xef\xbb\xbf<rss>": true, "\n\t <rss>": true, "{}": true, " [1]": true, "": false, " ": false, "\x0b\x02\x80": false,
		"\xff\xfe<\x00": false, "hello": false,
	} {
		if got := isText([]byte(s)); got != want {
			t.Errorf("isText(%q) = %v", s, got)
		}
	}
}

// TestNoBrotliLooksLikeText: what br makes of documents of all sizes is not taken for plain.
func TestNoBrotliLooksLikeText(t *testing.T) {
	c := newClient(t, nil)
	for n := 1; n < 3000; n += 17 {
		body := document[:n]
		r := unpacked(t, c, packed("br", body), "br")
		if string(r.Body) != body {
			t.Fatalf("%d bytes: %.40q", n, r.Body)
		}
		r.Release()
	}
}

func TestUnpackErrShort(t *testing.T) {
	for _, coding := range []string{"gzip", "br", "zstd", "zlib", "deflate"} {
		whole := []byte(packed(coding, document))
		exact, err := unpackInto(make([]byte, 0, len(document)+1), whole, coding)
		if err != nil || string(exact) != document {
			t.Errorf("%s: %v", coding, err)
		}
		short, err := unpackInto(make([]byte, 0, 100), whole, coding)
		if !errors.Is(err, errShort) || string(short) != document[:100] {
			t.Errorf("%s into too little: %v", coding, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, coding := range []string{"gzip", "br", "zstd", "zlib", "deflate"} {
		f.Add([]byte(packed(coding, document)), "br")
		f.Add([]byte(packed(coding, document)), "deflate")
	}
	c := newClient(f, func(o *Options) { o.MaxBody = 1 << 20 })
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		r := unpacked(t, c, string(b), name)
		if len(b) > 0 && bytes.Equal(r.Body, b) && r.Truncated != "" {
			t.Errorf("plain, but %s", r.Truncated)
		}
		if int64(cap(r.Body)) > bufferSize(max(int64(len(b)), c.o.MaxBody+1)) {
			t.Errorf("%d bytes", cap(r.Body))
		}
		r.Release()
		if !c.memory.unused(newMemory(c.o.MaxMemory, c.o.MaxBody)) {
			t.Error("memory was lost")
		}
	})
}
