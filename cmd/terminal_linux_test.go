package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// screen is a terminal that a child runs on.
type screen struct {
	t    testing.TB
	keys *os.File // the other end: what is typed goes in here

	mu   sync.Mutex
	text bytes.Buffer
	done chan struct{}
}

// onTerminal starts a command with a terminal as standard input, output and error.
func onTerminal(t testing.TB, env []string, args ...string) (*screen, *child) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	defer slave.Close()
	c := command(t, append([]string{"TERM=xterm"}, env...), args...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, keys: master, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		io.Copy(s, master) // ends with EIO when the child has ended
	}()
	return s, c
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the screen shows a text.
func (s *screen) await(text string) {
	s.t.Helper()
	await(s.t, fmt.Sprintf("%q on the screen", text), func() bool { return strings.Contains(s.String(), text) })
}

// end waits for the child's end and returns its code.
func (s *screen) end(c *child) int {
	s.t.Helper()
	code := c.end(s.t).code
	<-s.done
	return code
}

func (s *screen) enter(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, text+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// On a terminal a run has a progress bar, which goes, and a summary line, which stays; no colour.
func TestRunOnTerminal(t *testing.T) {
	site := newSite(t)
	feed := site.add("News", 3)
	site.add("News", 2)
	gate := make(chan struct{})
	site.edit(func() { feed.gate = gate })
	w := newWorld(t, site)
	w.subscribe()
	s, c := onTerminal(t, append(slices.Clone(w.env), "NO_COLOR=1"), "run")
	s.await("1 of 2")
	close(gate)
	if code := s.end(c); code != 0 {
		t.Errorf("code %d", code)
	}
	for _, must := range []string{"1 of 2", "2 feeds fetched, 2 changed; 5 items new"} {
		if !strings.Contains(s.String(), must) {
			t.Errorf("the screen lacks %q:\n%q", must, s)
		}
	}
	if colours := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindString(s.String()); colours != "" {
		t.Errorf("the screen has colours: %q", s)
	}
}

// Only errors are wanted: no bar, no summary, no notice. A terminal that cannot move its cursor has no bar, but a summary.
func TestQuietAndDumbTerminals(t *testing.T) {
	c := newCrawler(t)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	for _, test := range []struct {
		env  string
		args []string
		want string
	}{
		{"TERM=xterm", []string{"run", "--force", "-q"}, `^$`},
		{"TERM=xterm", []string{"stop", "1", "-q"}, `^$`},
		{"TERM=xterm", []string{"resume", "1"}, `^1 feed resumed\r\n$`},
		{"TERM=xterm", []string{"resume", "1"}, `^feed 1 \(http://127.0.0.1:[0-9]+\) is not stopped\r\n0 feeds resumed\r\n$`},
		{"TERM=dumb", []string{"run", "--force"}, `^1 feed fetched[^\x1b]*\r\n$`},
	} {
		s, child := onTerminal(t, append(slices.Clone(c.env), test.env), test.args...)
		if code := s.end(child); code != 0 || !regexp.MustCompile(test.want).MatchString(s.String()) {
			t.Errorf("%s crawl %s: code %d, screen %q", test.env, strings.Join(test.args, " "), code, s)
		}
	}
}

func TestRemoveAsks(t *testing.T) {
	c := newCrawler(t)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	for _, test := range []struct {
		answer string
		code   int
		left   int
	}{{"", 1, 1}, {"n", 1, 1}, {"y", 0, 0}} {
		s, child := onTerminal(t, c.env, "remove", "1")
		s.await("? [y/N] ")
		s.enter(test.answer)
		if code := s.end(child); code != test.code {
			t.Errorf("after %q: code %d, want %d\n%s", test.answer, code, test.code, s)
		}
		if left := strings.Count(c.ok("list"), "news.rss"); left != test.left {
			t.Errorf("after %q: %d feeds", test.answer, left)
		}
	}
}

// A password that is asked for is not shown, and a signal at the prompt gives the terminal back its echo.
func TestPasswordPrompt(t *testing.T) {
	c := newCrawler(t)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	s, child := onTerminal(t, c.env, "set", "1", "--user", "me")
	s.await("password of me: ")
	await(t, "the end of the echo", func() bool { // it goes off right after the prompt
		mode, err := unix.IoctlGetTermios(int(s.keys.Fd()), unix.TCGETS)
		return err == nil && mode.Lflag&unix.ECHO == 0
	})
	s.enter("verysecret")
	if code := s.end(child); code != 0 || strings.Contains(s.String(), "verysecret") {
		t.Errorf("code %d, screen %q", code, s)
	}

	s, child = onTerminal(t, c.env, "set", "1", "--user", "me")
	s.await("password of me: ")
	child.Process.Signal(syscall.SIGTERM)
	if code := s.end(child); code != exitStopped {
		t.Errorf("code %d, want %d\n%s", code, exitStopped, s)
	}
}
