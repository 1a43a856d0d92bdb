package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawl/crawl"
	"crawl/crawl/fetch"
	"crawl/store"
)

func TestExitCodes(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("do something: %w", err) }
	for _, test := range []struct {
		name string
		err  error
		code int
		hint bool
	}{
		{"done", nil, 0, false},
		{"any error", errors.New("no"), 1, false},
		{"said already", errSaid, 1, false},
		{"disk full", wrapped(store.ErrFull), 1, true},
		{"disk full elsewhere", wrapped(syscall.ENOSPC), 1, true},
		{"not writable", wrapped(&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}), 1, true},
		{"denied by a firewall", &fetch.Error{Err: syscall.EPERM}, 1, false},
		{"user and password wanted", wrapped(&fetch.Error{Kind: fetch.KindRefused, Unauthorized: true}), 1, true},
		{"forbidden", wrapped(&fetch.Error{Kind: fetch.KindRefused}), 1, false},
		{"read-only", wrapped(syscall.EROFS), 1, true},
		{"no database", wrapped(&crawl.MissingError{}), 1, true},
		{"database gone", wrapped(&crawl.MissingError{Gone: true}), 1, true},
		{"database busy", wrapped(store.ErrBusy), 1, true},
		{"already there", wrapped(store.ErrExists), 1, false},
		{"usage", usagef("no"), 2, false},
		{"wrapped usage", wrapped(&usageError{errors.New("no"), "do this"}), 2, true},
		{"unknown feed", wrapped(&store.NotFoundError{What: "feed", Name: "x"}), 2, false},
		{"several feeds found", errChoose, 2, false},
		{"unfinished", &outcomeError{crawl.Unfinished, "no"}, 3, false},
		{"outage", &hintedError{&outcomeError{crawl.Outage, "no"}, "wait"}, 4, true},
		{"killed", &outcomeError{crawl.Killed, "no"}, 5, false},
		{"signal", fmt.Errorf("%w: %w", errSignal, context.Canceled), 5, false},
		{"running", &outcomeError{crawl.Running, "no"}, 6, false},
		{"not ours", wrapped(store.ErrNotOurs), 7, true},
		{"newer", wrapped(store.ErrNewer), 7, true},
		{"damaged", wrapped(store.ErrDamaged), 7, true},
	} {
		if code := exitCode(test.err); code != test.code {
			t.Errorf("%s: code %d, want %d", test.name, code, test.code)
		}
		if h := hint(test.err); (h != "") != test.hint {
			t.Errorf("%s: hint %q", test.name, h)
		}
	}
}

// How an invocation ended decides what is said and with which code the program ends.
func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		outcome       string
		failIfRunning bool
		code          int
		says          string
	}{
		{crawl.Done, false, 0, ""},
		{crawl.Nothing, false, 0, ""},
		{crawl.Running, false, 0, ""},
		{crawl.Running, true, 6, "another process"},
		{crawl.Unfinished, false, 3, "unfinished"},
		{crawl.Outage, false, 4, "outage"},
		{crawl.Killed, false, 5, "killed"},
	} {
		var out, errs bytes.Buffer
		p := program{stdout: &out, stderr: &errs, env: func(string) (string, bool) { return "", false }}
		a := &app{program: p, log: newLog(&errs, 4, "text")}
		err := a.report(crawl.Summary{Outcome: test.outcome}, test.failIfRunning)
		p.complain(err)
		if code := exitCode(err); code != test.code {
			t.Errorf("%s: code %d, want %d", test.outcome, code, test.code)
		}
		if out.Len() > 0 || test.says == "" && errs.Len() > 0 || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%s: says %q and %q, want %q", test.outcome, out.String(), errs.String(), test.says)
		}
	}
}

// What a message repeats of the world outside cannot steer the terminal.
func TestComplain(t *testing.T) {
	var errs bytes.Buffer
	program{stderr: &errs}.complain(&hintedError{errors.New("read \x1b[2J\u202e\n"), "do\u200b this"})
	if want := "crawl: read [2J\nhint: do this\n"; errs.String() != want {
		t.Errorf("says %q, want %q", errs.String(), want)
	}
}

// Errors that were joined are told apart on their one line, also under what was being done and in the log.
func TestJoinedErrorsAreToldApart(t *testing.T) {
	var errs, logged bytes.Buffer
	err := fmt.Errorf("merge: %w", errors.Join(errors.New("the disk is full"), errors.New("record the end: the disk is full")))
	program{stderr: &errs}.complain(err)
	const want = "merge: the disk is full; record the end: the disk is full"
	if errs.String() != "crawl: "+want+"\n" {
		t.Errorf("says %q", errs.String())
	}
	slog.New(logHandler(&logged, slog.LevelWarn, "text")).Warn("no", "error", err)
	slog.New(logHandler(&logged, slog.LevelWarn, "json")).Warn("no", "error", err)
	if strings.Count(logged.String(), `"`+want+`"`) != 2 {
		t.Errorf("logs %s", logged.String())
	}
}

// The times in the log are those of the rest of the output.
func TestTimesInTheLog(t *testing.T) {
	var logged bytes.Buffer
	at := time.Date(2026, 11, 30, 23, 25, 0, 7e6, time.FixedZone("", 3600))
	slog.New(logHandler(&logged, slog.LevelInfo, "text")).Info("begin", slog.Time("hour", at))
	slog.New(logHandler(&logged, slog.LevelInfo, "json")).Info("begin", "hour", at)
	if !strings.Contains(logged.String(), " hour=2026-11-30T22:25:00Z\n") || !strings.Contains(logged.String(), `"hour":"2026-11-30T22:25:00Z"`) {
		t.Errorf("logs %s", logged.String())
	}
	if !regexp.MustCompile(`(?m)^time=[0-9-]+T[0-9:]+\.[0-9]{3}`).MatchString(logged.String()) {
		t.Errorf("the line's own time is not exact in %s", logged.String())
	}
}

// The help and the README list the same exit codes.
func TestExitCodesInHelpAndREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([0-9]) \| (.*) \|$`).FindAllStringSubmatch(string(readme), -1)
	for _, row := range rows {
		if line := fmt.Sprintf("\n  %s  %s", row[1], strings.ReplaceAll(row[2], "`", "")); !strings.Contains(longHelp+"\n", line+"\n") {
			t.Errorf("the help lacks %q", line)
		}
	}
	if len(rows) != exitDatabase+1 {
		t.Errorf("the README lists %d codes", len(rows))
	}
}

// The README names every file of the data directory.
func TestREADMENamesTheFiles(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## The data directory\n")
	section, _, _ = strings.Cut(section, "\n## ")
	dir := t.TempDir()
	c := newCrawler(t)
	c.env = append(c.env, "CRAWL_DIR="+dir)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	c.env = append(c.env, "CRAWL_TEST_KILL=merge-before-commit") // the flag stays
	command(t, c.env, "run").run(t)
	c.ok("kill")
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		name := strings.TrimPrefix(f.Name(), "crawl.db-")
		if !regexp.MustCompile("`-?" + regexp.QuoteMeta(name) + "/?`").MatchString(section) {
			t.Errorf("the README does not name %s", f.Name())
		}
	}
}

// Who may not write in another user's data directory is told whose it is.
func TestTheOwnerOfTheDirectoryIsNamed(t *testing.T) {
	dir, us := t.TempDir(), os.Geteuid()
	denied := fmt.Errorf("take the lock: %w", fs.ErrPermission)
	for _, test := range []struct {
		err  error
		dir  string
		uid  int
		want string // the end of the hint
	}{
		{denied, dir, us + 1, fmt.Sprintf(", you are uid %d; run this as its owner", us+1)},
		{denied, dir, us, hintToWrite},
		{denied, dir + "/missing", us + 1, hintToWrite},
		{unreadable(fs.ErrPermission), dir, us + 1, "must be able to read it"},
		{errors.New("something else"), dir, us + 1, ""},
	} {
		err := foreign(test.err, test.dir, test.uid)
		if got := hint(err); !strings.HasSuffix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%v, uid %d: hint %q, want %q", test.err, test.uid, got, test.want)
		}
		if !errors.Is(err, test.err) || exitCode(err) != exitCode(test.err) {
			t.Errorf("%v became %v", test.err, err)
		}
	}
	if foreign(nil, dir, us+1) != nil {
		t.Error("an error was made of none")
	}
}
