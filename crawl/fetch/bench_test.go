package fetch

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// BenchmarkGet sets a GET beside the least that net/http can do: one connection, the same header, one time limit, the
// body read into a reused buffer and gunzipped with a reused reader. The server's own work is in both.
func BenchmarkGet(b *testing.B) {
	plain := bytes.Repeat([]byte("<item><title>a title</title><link>https://example.com/1</link></item>\n"), 480)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(plain)
	w.Close()
	for _, body := range []struct {
		name, coding string
		bytes        []byte
	}{{"plain", "", plain}, {"gzip", "gzip", packed.Bytes()}} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if body.coding != "" {
				w.Header().Set("Content-Encoding", body.coding)
			}
			w.Write(body.bytes)
		}))
		defer s.Close()
		b.Run(body.name+"/get", func(b *testing.B) { benchmarkGet(b, s.URL) })
		b.Run(body.name+"/bare", func(b *testing.B) { benchmarkBare(b, s.URL) })
	}
}

func benchmarkGet(b *testing.B, url string) {
	c := newClient(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		r, err := c.Get(context.Background(), Request{URL: url})
		if err != nil || r.Truncated != "" {
			b.Fatal(err, r)
		}
		r.Release()
	}
}

func benchmarkBare(b *testing.B, url string) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	client := &http.Client{Transport: &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
	}}
	var wire, plain bytes.Buffer
	unpack := new(gzip.Reader)
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		request.Header["Accept"] = []string{accept}
		request.Header["Accept-Encoding"] = []string{acceptEncoding}
		request.Header["User-Agent"] = []string{agent}
		answer, err := client.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		wire.Reset()
		wire.ReadFrom(answer.Body)
		answer.Body.Close()
		if answer.Header.Get("Content-Encoding") == "gzip" {
			unpack.Reset(&wire)
			plain.Reset()
			plain.ReadFrom(unpack)
		}
		cancel()
	}
}
