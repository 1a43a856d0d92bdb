package cmd

import (
	"log"
	"log/slog"
	"strings"
	"testing"
)

// What std log is given goes into the log in force, as an info record (rule Q10): net/http writes servers' bytes there, and cron would
// mail them.
func TestStdLogGoesIntoTheLog(t *testing.T) {
	before, flags, to := slog.Default(), log.Flags(), log.Writer()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetFlags(flags)
		log.SetOutput(to)
	})
	for level, want := range map[slog.Level]string{slog.LevelInfo: `level=INFO msg="Unsolicited response \x1b[2J"`, slog.LevelWarn: ""} {
		var out strings.Builder
		newLog(&out, level, "text")
		log.Print("Unsolicited response \x1b[2J")
		if got := out.String(); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("at level %s the log has %q", level, got)
		}
	}
}
