package crawl

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Feeds that had no outcome for want of memory are not passed over in silence, though the run is done.
func TestFeedsLeftForWantOfMemoryAreTold(t *testing.T) {
	for starved, want := range map[int]string{0: "", 3: "feeds=3"} {
		var out bytes.Buffer
		c := &collector{s: &session{cfg: Config{Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))}}}
		for range starved {
			c.noteOurs(&finished{event: event{starved: true}})
		}
		c.noteOurs(&finished{})
		if err := c.s.tellTrouble(t.Context()); err != nil || !strings.Contains(out.String(), want) || want == "" && out.Len() > 0 {
			t.Errorf("%d feeds: %v, %q", starved, err, out.String())
		}
	}
}
