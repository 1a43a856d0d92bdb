package crawl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hookTail is how much of a hook's output is kept for a message, and of its complaints, in bytes.
const hookTail = 4 << 10

// hookFacts is what a hook gets: as environment variables (CRAWL_HOUR …) and as one JSON object on standard input. No feed text is
// among it, and no command line is built from it.
type hookFacts struct {
	Hour    time.Time `json:"hour"`
	Run     int64     `json:"run"`
	New     int       `json:"new"`
	Updated int       `json:"updated"`
	Removed int       `json:"removed"`
	After   int64     `json:"after"` // the changes are those with after < seq <= through
	Through int64     `json:"through"`
	Epoch   int64     `json:"epoch"`
}

// environ takes the absolute paths of the directory and of the database. Where that is "" it is the directory's, by default or by the
// settings file in it, and a crawl --dir in the hook finds the other directory's.
func (f hookFacts) environ(dir, db string) []string {
	n := func(name string, v int64) string { return "CRAWL_" + name + "=" + strconv.FormatInt(v, 10) }
	env := []string{
		"CRAWL_DIR=" + dir,
		"CRAWL_HOUR=" + f.Hour.UTC().Format(time.RFC3339),
		n("RUN", f.Run), n("NEW", int64(f.New)), n("UPDATED", int64(f.Updated)), n("REMOVED", int64(f.Removed)),
		n("SEQ_AFTER", f.After), n("SEQ", f.Through), n("EPOCH", f.Epoch),
	}
	if db != "" {
		env = append(env, "CRAWL_DB="+db)
	}
	return env
}

// HookVariables are the names of the environment variables that a hook can be given.
func HookVariables() []string {
	var names []string
	for _, line := range (hookFacts{}).environ("/", "/") {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	return names
}

// hookPath is the path on which a hook finds its commands: the one that is set (cron sets a short one) and, last, where this program was
// called and where it is. A link may stand in the one and another name in the other.
func hookPath() []string {
	path := cmp.Or(os.Getenv("PATH"), "/usr/bin:/bin")
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	var last string
	for _, program := range []string{called(), self} {
		dir := filepath.Dir(program)
		if program == "" || dir == last || strings.ContainsRune(dir, os.PathListSeparator) {
			continue
		}
		path, last = path+string(os.PathListSeparator)+dir, dir
	}
	return []string{"PATH=" + path}
}

// hookDue: whenever there are changes above the seq that the hook last dealt with, so that a forced run or a late import is
// not missed; also across the gap that a new epoch begins with, for what the hook has told others of is gone.
func (s *session) hookDue(ctx context.Context, after int64) (bool, error) {
	if s.cfg.Settings.Hook == "" {
		return false, nil
	}
	seq, err := s.store.HighestSeq(ctx)
	return seq > after, err
}

// hook runs the user's command with a time limit, in a process group of its own so that its children end with it.
func (s *session) hook(ctx context.Context, after int64) (int64, error) {
	counts, highest, err := s.store.ChangeCounts(context.WithoutCancel(ctx), after)
	if err != nil {
		return 0, err
	}
	facts := hookFacts{
		Hour: s.hour, Run: s.run, New: counts["new"], Updated: counts["updated"], Removed: counts["removed"],
		After: after, Through: highest, Epoch: s.epoch,
	}
	input, err := json.Marshal(facts)
	if err != nil {
		return 0, err
	}
	db := ""
	if s.cfg.DB != "" && !s.cfg.OwnDB {
		if db, err = filepath.Abs(s.cfg.DB); err != nil {
			return 0, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.Settings.HookTimeout, fmt.Errorf("it took longer than %s", s.cfg.Settings.HookTimeout))
	defer cancel()
	var out, complaints tail
	c := exec.CommandContext(ctx, "/bin/sh", "-c", s.cfg.Settings.Hook)
	c.Env = append(append(os.Environ(), hookPath()...), facts.environ(s.dir.Path, db)...)
	c.Stdin = bytes.NewReader(append(input, '\n'))
	c.Stdout, c.Stderr = &out, &complaints
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	if err := c.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) { // a child that it left behind is its own business
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, fmt.Errorf("%w%s", err, cmp.Or(complaints.last(), out.last()))
	}
	if text := oneLine(string(complaints.b)); text != "" {
		s.cfg.Log.Info("the hook complains, and ended well", slog.String("stderr", text))
	}
	return highest, nil
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if extra := len(t.b) - hookTail; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(p), nil
}

// last gives the last line, for a message; "" if there is none.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	if text := oneLine(lines[len(lines)-1]); text != "" {
		return ": " + text
	}
	return ""
}
