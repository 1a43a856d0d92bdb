package cmd

import (
	"io"
	"log/slog"
	"sync"
)

// newLog builds the log on standard error. What std log is given (net/http writes servers' bytes there) becomes its info records.
func newLog(w io.Writer, level slog.Level, format string) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, o) // quotes what is not printable
	if format == "json" {
		handler = slog.NewJSONHandler(jsonWriter{w}, o)
	}
	log := slog.New(handler)
	slog.SetDefault(log)
	return log
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
