package cmd

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hanging starts a run of the first hour that waits for answers, and lets later requests through.
func hanging(t *testing.T, settings ...string) (*world, *process) {
	t.Helper()
	s := newSite(t)
	for n := range 8 {
		s.add([]string{"News", "Art"}[n%2], 3)
	}
	s.edit(func() {
		for _, f := range s.feeds[2:] {
			f.gate = make(chan struct{})
		}
	})
	w := newWorld(t, s, settings...)
	w.subscribe()
	run := w.start(runAt(0), "run")
	s.await(t, "two answers", answered(2))
	s.await(t, "all requests", arrived(8))
	s.edit(func() {
		for _, f := range s.feeds {
			f.gate = nil
		}
	})
	s.cut()
	return w, run
}

// A run of the last hour that hangs is told to stop, and this hour's does everything.
func TestThisHoursRunTakesOverFromTheLast(t *testing.T) {
	t.Parallel()
	w, old := hanging(t)
	w.run(runAt(1), "run").want(0).wantTakeover(old, "its hour is over")
	old.wait().want(5)
	eachOnce(t, w.site.cut(), w.site.feeds)
	w.converged(halfAt(1))
}

// One that does not even hear the signal is killed after the time to wait.
func TestTakeoverKillsARunThatIsDeaf(t *testing.T) {
	t.Parallel()
	w, old := hanging(t, "CRAWL_TAKEOVER_WAIT=1s")
	old.signal(syscall.SIGSTOP)
	w.run(runAt(1), "run").want(0).wantTakeover(old, "its hour is over")
	old.wait().wantKilled()
	w.wantCrashed("a run took over: its hour is over")
	eachOnce(t, w.site.cut(), w.site.feeds)
	w.converged(halfAt(1))
}

// wantTakeover wants one line that says which process was ended, and why: it was done in silence.
func (e ending) wantTakeover(from *process, why string) {
	e.t.Helper()
	if !oneLine(e.stderr, fmt.Sprintf("level=WARN msg=\"a process was ended, and its work is taken over\" kind=run run=1 pid=%d ", from.child.Process.Pid)) ||
		!strings.Contains(e.stderr, why) {
		e.t.Fatalf("want one line about the takeover from process %d of %s", from.child.Process.Pid, e)
	}
}

// wantCrashed wants the first run to have crashed for this reason.
func (w *world) wantCrashed(why string) {
	w.t.Helper()
	if got := w.query("SELECT outcome, reason FROM runs WHERE id = 1")[0]; !strings.HasPrefix(got, "crashed | "+why) {
		w.t.Fatalf("the first run is %s, and not crashed: %s", got, why)
	}
}

// Of one that died by itself nothing is said, and the database has the reason.
func TestARunThatDiedHasAReason(t *testing.T) {
	t.Parallel()
	w, old := hanging(t)
	old.signal(syscall.SIGKILL)
	old.wait().wantKilled()
	w.silent(halfAt(0), "half-check")
	w.wantCrashed("the process died")
	w.converged(halfAt(0).Add(time.Minute))
}

// A half-check leaves a run that makes progress alone, and takes over from one that made none for ten minutes; what it had is kept.
func TestHalfCheckTakesOverFromAStalledRun(t *testing.T) {
	t.Parallel()
	w, old := hanging(t, "CRAWL_TAKEOVER_WAIT=1s", "CRAWL_TIMEOUT=20m")
	w.awaitItems(6, old)
	await(t, "the end of the merge", func() bool {
		memory, err := os.ReadFile(filepath.Join(w.dir, "memory.json"))
		return err == nil && strings.Contains(string(memory), fmt.Sprintf(`"highest_seq":%d}`, w.number("SELECT max(seq) FROM changes")))
	})
	w.nothingToDo(runAt(0).Add(5*time.Minute), "half-check")
	old.signal(syscall.SIGSTOP)
	w.run(runAt(0).Add(12*time.Minute), "half-check").want(0).wantTakeover(old, "no progress for 1")
	old.wait().wantKilled()
	w.wantCrashed("a half-check took over: no progress for 1")
	eachOnce(t, w.site.cut(), w.site.feeds[2:])
	w.converged(halfAt(0))
}

// A run of a newer hour is never disturbed by one whose clock went back.
func TestAnOlderClockTakesNothingOver(t *testing.T) {
	t.Parallel()
	w, newer := hanging(t)
	w.silent(runAt(-1), "run")
	newer.signal(syscall.SIGTERM)
	newer.wait().want(5)
}

// The lock file names a process that now is another program: it gets no signal, and the run that cannot have the lock says so.
func TestAStrangersPidGetsNoSignal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 2)
	w := newWorld(t, s, "CRAWL_TAKEOVER_WAIT=1s")
	w.subscribe()
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stranger.Process.Kill()
		stranger.Wait()
	})
	release := w.forgeLock(map[string]any{
		"run": 1, "kind": "run", "pid": stranger.Process.Pid, "started": "1", "boot": bootID(t),
		"hour": hourOf(0), "since": hourOf(0), "phase": "fetching", "progress": hourOf(0),
	})
	e := w.run(runAt(1), "run").want(1)
	if e.stderr == "" {
		t.Fatalf("it does not say why: %s", e)
	}
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil || processState(t, stranger.Process.Pid) != 'S' {
		t.Fatalf("the stranger was disturbed: %v", err)
	}
	release()
	w.silent(runAt(1).Add(time.Minute), "run")
	if err := stranger.Process.Signal(syscall.Signal(0)); err != nil || processState(t, stranger.Process.Pid) != 'S' {
		t.Fatalf("the stranger was disturbed: %v", err)
	}
	w.converged(halfAt(1))
}

// forgeLock holds the lock as another process would and writes that holder into it.
func (w *world) forgeLock(holder map[string]any) (release func()) {
	w.t.Helper()
	file, err := os.OpenFile(filepath.Join(w.dir, "lock"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { file.Close() })
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		w.t.Fatal(err)
	}
	text, err := json.Marshal(holder)
	if err != nil {
		w.t.Fatal(err)
	}
	text = text[:len(text)-1] // a note ends with the checksum of what stands before
	sum := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	if _, err := fmt.Fprintf(file, "%s,\"sum\":\"%08x\"}\n", text, sum); err != nil {
		w.t.Fatal(err)
	}
	return func() { file.Close() }
}

func bootID(t *testing.T) string {
	t.Helper()
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	return string(id[:len(id)-1])
}

// processState is the state letter of /proc/PID/stat: S while it sleeps, Z once it ended.
func processState(t testing.TB, pid int) byte {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range stat {
		if c == ')' {
			return stat[i+2]
		}
	}
	return 0
}
