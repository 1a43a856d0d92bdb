package feed

import (
	"context"
	"os"
	"testing"
)

func BenchmarkProf(b *testing.B) {
	body, _ := os.ReadFile(os.Getenv("PF"))
	d := Document{Body: body, ContentType: "text/xml; charset=utf-8", URL: "http://x/"}
	f, _ := Read(context.Background(), d)
	if os.Getenv("NONE") != "" {
		d.Memory = f.Memory
		d.Rule = f.Rule
	}
	b.ReportAllocs()
	for b.Loop() {
		Read(context.Background(), d)
	}
}
