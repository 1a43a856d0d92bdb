package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// maxLayers is how often a body is unpacked: some servers pack what is packed.
const maxLayers = 3

// maxWindow is the most that a zstd frame may ask for (RFC 9659).
const maxWindow = 8 << 20

// codings are the names in Content-Encoding, the last one applied last.
func codings(h http.Header) []string {
	var names []string
	for _, line := range h["Content-Encoding"] {
		for name := range strings.SplitSeq(strings.ToLower(line), ",") {
			if name = strings.TrimSpace(name); name != "" && name != "identity" {
				names = append(names, name)
			}
		}
	}
	return names
}

// coding says how b is packed: "" if it is not. Its first bytes decide; a name counts only for br and deflate, which have no
// such bytes, and not where b is plainly text.
func coding(b []byte, name string) string {
	switch {
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b, 8}):
		return "gzip"
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	case len(b) == 0 || isText(b):
		return ""
	case name == "br":
		return "br"
	case name == "deflate" && len(b) > 1 && b[0]&15 == 8 && (int(b[0])<<8|int(b[1]))%31 == 0:
		return "zlib"
	case name == "deflate":
		return "deflate"
	}
	return ""
}

// isText recognises what feeds and pages begin with. No brotli stream begins with "<" or a byte order mark: in both a bit that
// must be 0 is 1.
func isText(b []byte) bool {
	b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(b) > 0 && (b[0] == '<' || b[0] == '{' || b[0] == '[')
}

// decode unpacks a body as often as it is packed. What cannot be unpacked to its end gives what came out, and r.Truncated.
func (g *get) decode(b []byte, names []string, r *Response) ([]byte, error) {
	for range maxLayers {
		name := ""
		if n := len(names); n > 0 {
			name, names = names[n-1], names[:n-1]
		}
		packing := coding(b, name)
		if packing == "" {
			return b, nil
		}
		plain, err := g.unpack(b, packing)
		if plain == nil {
			return nil, g.starved(err)
		}
		if err != nil && len(plain) == 0 && !errors.Is(err, io.ErrUnexpectedEOF) && (packing == "br" || packing == "deflate") {
			// The name was wrong.
			g.hold.discard(plain)
			return b, nil
		}
		g.hold.discard(b)
		b = plain
		if errors.Is(err, errShort) {
			r.cut(KindTooLarge, "the body is larger than "+size(g.c.o.MaxBody))
		} else if err != nil {
			r.cut(KindTruncated, "the body's "+packing+" data is cut off or damaged")
		}
	}
	return b, nil
}

// errShort is unpackInto's when the buffer was too small.
var errShort = errors.New("more than the buffer holds")

// unpack unpacks one layer of b; with errShort if that is more than the limit. A nil slice means that no memory was to
// be had. Unpacking never waits, since it has one of few places; where the buffer proves too small it is done again with a
// larger one.
func (g *get) unpack(b []byte, packing string) ([]byte, error) {
	most := g.c.o.MaxBody + 1
	n := min(guess(b, packing), most)
	for {
		plain, err := g.buffer(n, func(bool) {})
		if err != nil {
			return nil, err
		}
		g.c.decoding <- struct{}{}
		plain, err = unpackInto(plain, b, packing)
		<-g.c.decoding
		if !errors.Is(err, errShort) || int64(len(plain)) >= most {
			return plain, err
		}
		n = min(2*int64(cap(plain)), most)
		g.hold.discard(plain)
	}
}

// guess is about how many bytes b unpacks to.
func guess(b []byte, packing string) int64 {
	n := int64(len(b))
	if packing == "gzip" && n >= 18 { // the end says, if it can be believed (RFC 1952, ISIZE)
		end := b[n-4:]
		said := int64(end[0]) | int64(end[1])<<8 | int64(end[2])<<16 | int64(end[3])<<24
		if said <= n*1032 {
			return max(said, n/2) + 1
		}
	}
	return 6 * n
}

// unpackInto unpacks b into the room of to.
func unpackInto(to, b []byte, packing string) ([]byte, error) {
	r := bytes.NewReader(b)
	switch packing {
	case "gzip":
		return gunzip(to, r)
	case "zstd":
		d, err := zstdReaders.get(r)
		if err != nil {
			return to, err
		}
		defer zstdReaders.put(d)
		return fill(to, d)
	case "br":
		d, err := brotliReaders.get(r)
		if err != nil {
			return to, err
		}
		defer brotliReaders.put(d)
		return fill(to, d)
	case "zlib":
		d, err := zlib.NewReader(r)
		if err != nil {
			return to, err
		}
		return fill(to, d)
	}
	return fill(to, flate.NewReader(r))
}

// gunzip unpacks all members; what follows them is ignored.
func gunzip(to []byte, r *bytes.Reader) ([]byte, error) {
	d, err := gzipReaders.get(r)
	if err != nil {
		return to, err
	}
	defer gzipReaders.put(d)
	for {
		d.Multistream(false)
		if to, err = fill(to, d); err != nil {
			return to, err
		}
		magic := make([]byte, 2)
		if n, _ := r.ReadAt(magic, r.Size()-int64(r.Len())); n < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
			return to, nil
		}
		if err = d.Reset(r); err != nil {
			return to, err
		}
	}
}

// fill reads r to its end into the room of to.
func fill(to []byte, r io.Reader) ([]byte, error) {
	for len(to) < cap(to) {
		n, err := r.Read(to[len(to):cap(to)])
		to = to[:len(to)+n]
		if err == io.EOF {
			return to, nil
		}
		if err != nil {
			return to, err
		}
	}
	return to, errShort
}

// resetter is a decompressor that can be used again.
type resetter interface{ Reset(io.Reader) error }

// pool keeps decompressors of one kind for later use.
type pool[T resetter] struct {
	pool sync.Pool
	make func() (T, error)
}

// get returns a decompressor that reads r.
func (p *pool[T]) get(r io.Reader) (T, error) {
	d, ok := p.pool.Get().(T)
	if !ok {
		var err error
		if d, err = p.make(); err != nil {
			return d, err
		}
	}
	return d, d.Reset(r)
}

func (p *pool[T]) put(d T) { p.pool.Put(d) }

var (
	gzipReaders   = pool[*gzip.Reader]{make: func() (*gzip.Reader, error) { return new(gzip.Reader), nil }}
	brotliReaders = pool[*brotli.Reader]{make: func() (*brotli.Reader, error) { return brotli.NewReader(nil), nil }}
	zstdReaders   = pool[*zstd.Decoder]{make: func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeBuffersBelow(0))
	}}
)
