package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is also the program: with CRAWL_TEST_MAIN=1, or under the name "crawl" (which testscript puts on the path of
// its scripts), it runs program.main with what these variables say:
//
//	CRAWL_TEST_NOW      an RFC 3339 instant: the clock's reading at process start; real time flows on from there
//	CRAWL_TEST_KILL     "point" or "point#n": the process kills itself (SIGKILL) at the n-th (first) call of that point
//	CRAWL_TEST_STALL    "point" or "point#n", then optionally "=30s": that call hangs, for good or so long, deaf to signals
//	CRAWL_TEST_STALLED  a file that is created when the stall begins, so that a test can wait for it
//	CRAWL_TEST_POINTS   a file to which the name of each point that is passed is appended, one a line
func TestMain(m *testing.M) {
	asProgram := func() { os.Exit(testProgram().main()) }
	if os.Getenv("CRAWL_TEST_MAIN") == "1" {
		asProgram()
	}
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) { // as nohup has it: then so would the programs that are started here, which do as they are told
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	testscript.Main(m, map[string]func(){"crawl": asProgram})
}

// testProgram is Main's program with the clock and the points that the environment asks for.
func testProgram() program {
	p := program{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		env: os.LookupEnv, environ: os.Environ, now: time.Now,
	}
	if s := os.Getenv("CRAWL_TEST_NOW"); s != "" {
		p.now = clockFrom(s)
	}
	p.point = testPoints()
	return p
}

// clockFrom is a clock that reads start now and runs at real speed.
func clockFrom(start string) func() time.Time {
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		panic("CRAWL_TEST_NOW: " + err.Error())
	}
	at = at.Local()
	began := time.Now()
	return func() time.Time { return at.Add(time.Since(began)) }
}

// testPoints is what happens at each named point of the program; nil if nothing does.
func testPoints() func(string) {
	kill, killAt := pointNumber(os.Getenv("CRAWL_TEST_KILL"))
	spec, duration, _ := strings.Cut(os.Getenv("CRAWL_TEST_STALL"), "=")
	stall, stallAt := pointNumber(spec)
	trace := os.Getenv("CRAWL_TEST_POINTS")
	if kill == "" && stall == "" && trace == "" {
		return nil
	}
	var mu sync.Mutex
	seen := map[string]int{}
	return func(name string) {
		mu.Lock()
		seen[name]++
		n := seen[name]
		if trace != "" {
			appendLine(trace, name)
		}
		mu.Unlock()
		if name == kill && n == killAt {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		if name == stall && n == stallAt {
			hang(duration)
		}
	}
}

// pointNumber parses "point" or "point#n".
func pointNumber(s string) (name string, n int) {
	name, number, found := strings.Cut(s, "#")
	if !found {
		return name, 1
	}
	n, err := strconv.Atoi(number)
	if err != nil {
		panic("point " + s + ": " + err.Error())
	}
	return name, n
}

func hang(duration string) {
	if file := os.Getenv("CRAWL_TEST_STALLED"); file != "" {
		appendLine(file, "stalled")
	}
	if duration == "" {
		select {}
	}
	d, err := time.ParseDuration(duration)
	if err != nil {
		panic("CRAWL_TEST_STALL: " + err.Error())
	}
	time.Sleep(d)
}

func appendLine(file, line string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

// quickExit keeps the race detector from sleeping a second at the end of each child.
const quickExit = "GORACE=atexit_sleep_ms=0"

// child is the program as a child process, ready to start: `crawl args…` on its own environment (a bare one, as cron gives,
// and then env). Output goes to buffers, which are safe to read once it has ended.
type child struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// command prepares a child. env is of the form "NAME=value" and may set the CRAWL_TEST_ variables.
func command(t testing.TB, env []string, args ...string) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: exec.Command(self, args...)}
	c.Env = []string{"CRAWL_TEST_MAIN=1", quickExit, "HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	if zone, set := os.LookupEnv("TZ"); set {
		c.Env = append(c.Env, "TZ="+zone)
	}
	c.Env = append(c.Env, env...)
	c.Stdout, c.Stderr = &c.stdout, &c.stderr
	return c
}

// result is how a child ended. code is -1 when a signal killed it.
type result struct {
	code           int
	stdout, stderr string
}

// run starts the child and waits for its end.
func (c *child) run(t testing.TB) result {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c.end(t)
}

// end waits for a started child.
func (c *child) end(t testing.TB) result {
	t.Helper()
	err := c.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{c.ProcessState.ExitCode(), c.stdout.String(), c.stderr.String()}
}
