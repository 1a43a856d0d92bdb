package feed

import (
	"bytes"
	"context"
	"fmt"
	"github.com/mmcdole/gofeed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mint(n int, f func()) time.Duration {
	best := time.Hour
	for range n {
		t := time.Now()
		f()
		if d := time.Since(t); d < best {
			best = d
		}
	}
	return best
}
func TestTmp(t *testing.T) {
	fs, _ := filepath.Glob("/tmp/feed/b/*.0")
	for _, n := range fs {
		body, _ := os.ReadFile(n)
		one, _ := os.ReadFile(strings.TrimSuffix(n, "0") + "1")
		d := Document{Body: body, ContentType: "text/xml; charset=utf-8", URL: "http://x/"}
		f, err := Read(context.Background(), d)
		if err != nil {
			t.Fatal(err)
		}
		k := d
		k.Memory = f.Memory
		k.Rule = f.Rule
		k2 := k
		k2.Body = one
		g, _ := Read(context.Background(), k2)
		if g.Whole || len(g.Items) != 1 {
			t.Log(n, g.Why, len(g.Items), g.Count)
		}
		gf, all, no, on := time.Hour, time.Hour, time.Hour, time.Hour
		for range 6 {
			gf = min(gf, mint(30, func() { gofeed.NewParser().Parse(bytes.NewReader(body)) }))
			all = min(all, mint(30, func() { Read(context.Background(), d) }))
			no = min(no, mint(300, func() { Read(context.Background(), k) }))
			on = min(on, mint(100, func() { Read(context.Background(), k2) }))
		}
		fmt.Printf("%-20s gofeed %v all %.2f one 1/%.1f (%v) none 1/%.1f (%v) %.0f MB/s\n", filepath.Base(n), gf, float64(all)/float64(gf), float64(gf)/float64(on), on, float64(gf)/float64(no), no, float64(len(body))/no.Seconds()/1e6)
	}
}
