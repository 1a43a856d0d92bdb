package state

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary its own child process: what another process of the directory does.
func TestMain(m *testing.M) {
	if role := os.Getenv("STATE_CHILD"); role != "" {
		if err := child(role, os.Getenv("STATE_DIR")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child plays a role until its standard input is closed. Its first line of output says how it began.
func child(role, dir string) error {
	role, arg, _ := strings.Cut(role, " ")
	d, err := Open(dir)
	if err != nil {
		return err
	}
	switch role {
	case "lock", "stubborn", "polite":
		if role != "lock" {
			terms := make(chan os.Signal, 1)
			signal.Notify(terms, syscall.SIGTERM)
			if role == "polite" {
				go func() { <-terms; os.Exit(7) }()
			}
		}
		lock, err := d.Lock(Holder{Run: 5, Kind: "run", Hour: testHour, Phase: "fetch"})
		var held *HeldError
		if errors.As(err, &held) {
			fmt.Println("other", d.ID, held.Holder.PID)
			return nil
		}
		if err != nil {
			return err
		}
		defer lock.Unlock()
		fmt.Println("mine", d.ID, os.Getpid())
		io.Copy(io.Discard, os.Stdin)
	case "look":
		fmt.Println("looking")
		done := make(chan struct{})
		go func() { io.Copy(io.Discard, os.Stdin); close(done) }()
		for {
			select {
			case <-done:
				return nil
			default:
			}
			if _, err := d.Holder(); err != nil {
				return err
			}
		}
	case "crash":
		return crash(d, arg)
	}
	return nil
}

// started is a running child.
type started struct {
	*exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

func start(t *testing.T, dir, role string) *started {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STATE_CHILD="+role, "STATE_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return &started{cmd, stdin, bufio.NewReader(out)}
}

// says returns the words of the child's next line.
func (s *started) says(t *testing.T) []string {
	t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatalf("child said %q: %v", line, err)
	}
	return strings.Fields(line)
}

// end lets the child finish by itself.
func (s *started) end(t *testing.T) {
	t.Helper()
	s.stdin.Close()
	rest, _ := io.ReadAll(s.out)
	if err := s.Wait(); err != nil {
		t.Errorf("child: %v: %s", err, rest)
	}
}

var testHour = time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)

func open(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func header(d *Dir, category int64) Header {
	return Header{Category: category, Hour: testHour, Host: d.ID, Epoch: 1, Run: 12, Started: testHour.Add(time.Second)}
}

// result is the i-th line of a test's snapshot; some have what must be quoted, or are long.
func result(i int) Line {
	l := Line{Feed: int64(i), URL: fmt.Sprintf("https://example.org/%d", i), Token: int64(3 * i)}
	text := fmt.Sprintf("item %d", i)
	switch i % 3 {
	case 1:
		l.URL += `/"ü\<&>` + "\u2028"
	case 2:
		text = strings.Repeat(text+" \"\\\n", i)
	}
	l.Data, _ = json.Marshal(map[string]any{"title": text})
	return l
}

func lines(n int) []Line {
	var all []Line
	for i := range n {
		all = append(all, result(i+1))
	}
	return all
}

// write makes a part with the given lines.
func write(t testing.TB, d *Dir, h Header, lines []Line) *Part {
	t.Helper()
	p, err := d.Part(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		if err := p.Append(l); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// snapshot makes a complete snapshot with the given lines.
func snapshot(t testing.TB, d *Dir, h Header, lines []Line) Info {
	t.Helper()
	c, err := write(t, d, h, lines).Close(h.Run, testHour.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return Info{Header: h, Closing: &c, Complete: true, Path: d.snapshotPath(h.Category)}
}

// rejecting is Look, after which each bad file is moved away.
func rejecting(d *Dir) (infos []Info, bad []*DamagedError, err error) {
	infos, bad, err = d.Look()
	for i := range bad {
		bad[i] = d.Reject(bad[i])
	}
	return infos, bad, err
}

// list returns what rejecting finds, and fails for anything bad.
func list(t testing.TB, d *Dir) []Info {
	t.Helper()
	infos, bad, err := rejecting(d)
	if err != nil || len(bad) > 0 {
		t.Fatalf("snapshots: %v, bad %v", err, bad)
	}
	return infos
}

// read returns all lines up to the first error, and that.
func read(d *Dir, info Info) ([]Line, error) {
	var all []Line
	for l, err := range d.Read(info) {
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

func equal(a, b []Line) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return len(a) == len(b) && (len(a) == 0 || string(x) == string(y))
}
