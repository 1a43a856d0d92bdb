package cmd

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"crawl/crawl"
)

// newLog builds the log on standard error. What std log is given (net/http writes servers' bytes there) becomes its info records.
func newLog(w io.Writer, level slog.Level, format string) *slog.Logger {
	log := slog.New(logHandler(w, level, format))
	slog.SetDefault(log)
	return log
}

// logHandler writes errors on one line, and times in the form of all else that is printed, but for the line's own.
func logHandler(w io.Writer, level slog.Level, format string) slog.Handler {
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch value := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(crawl.ErrorLine(value))
		case time.Time:
			if a.Key != slog.TimeKey {
				a.Value = slog.StringValue(stamp(value))
			}
		}
		return a
	}}
	if format == "json" {
		return slog.NewJSONHandler(jsonWriter{w}, o)
	}
	return slog.NewTextHandler(w, o) // quotes what is not printable
}

// logLevel is the level in force: an explicit --log-level, else what -q or -v say, else the setting.
func logLevel(s settings, from string, quiet bool, verbose int) slog.Level {
	switch {
	case from == "flag --log-level":
	case quiet:
		return slog.LevelError
	case verbose > 1:
		return slog.LevelDebug
	case verbose == 1:
		return slog.LevelInfo
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.logLevel)) // the setting was checked
	return level
}

// switchedWriter is a writer whose target can change: log lines go above the progress bars while there are some.
type switchedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *switchedWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// to changes the target.
func (s *switchedWriter) to(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = w
}
