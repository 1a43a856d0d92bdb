package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

func take(t *testing.T, d *Dir, h Holder) *Lock {
	t.Helper()
	l, err := d.Lock(h)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestLockEightAtOnce: on a directory that is not there, one of eight processes works, the others learn who, and all
// agree on the identity.
func TestLockEightAtOnce(t *testing.T) {
	for range 3 {
		dir := filepath.Join(t.TempDir(), "not", "there")
		var children []*started
		for range 8 {
			children = append(children, start(t, dir, "lock"))
		}
		var winner string
		ids, named := map[string]bool{}, map[string]bool{}
		for _, c := range children {
			said := c.says(t)
			ids[said[1]] = true
			if said[0] == "mine" {
				if winner != "" {
					t.Error("two hold the lock")
				}
				winner = said[2]
			} else {
				named[said[2]] = true
			}
		}
		delete(named, "0") // had not yet said who
		if winner == "" || len(ids) != 1 || len(named) > 1 || len(named) == 1 && !named[winner] {
			t.Errorf("winner %q, ids %v, others name %v", winner, ids, named)
		}
		for _, c := range children {
			c.end(t)
		}
	}
}

// TestLookingDisturbsNobody: while processes and goroutines look who holds the lock, each start on a free lock succeeds.
func TestLookingDisturbsNobody(t *testing.T) {
	d := open(t, t.TempDir())
	var children []*started
	for range 3 {
		c := start(t, d.Path, "look")
		c.says(t)
		children = append(children, c)
	}
	var group sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if h, err := d.Holder(); err != nil || h != nil && h.PID != os.Getpid() && *h != (Holder{}) {
					t.Errorf("holder %+v, %v", h, err)
					return
				}
			}
		})
	}
	for i := range 200 {
		l, err := d.Lock(Holder{Run: int64(i)})
		if err != nil {
			t.Errorf("start %d on a free lock: %v", i, err)
			break
		}
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	group.Wait()
	for _, c := range children {
		c.end(t)
	}
}

// TestLockDiesWithItsProcess: after a kill -9 nobody holds the lock, whatever the file says.
func TestLockDiesWithItsProcess(t *testing.T) {
	d := open(t, t.TempDir())
	c := start(t, d.Path, "lock")
	c.says(t)
	if h, err := d.Holder(); err != nil || h == nil || h.PID != c.Process.Pid || h.Run != 5 || !h.Hour.Equal(testHour) {
		t.Fatalf("holder %+v, %v", h, err)
	}
	var held *HeldError
	if _, err := d.Lock(Holder{}); !errors.As(err, &held) || held.Holder.PID != c.Process.Pid {
		t.Fatalf("lock: %v", err)
	}
	if text := held.Error(); !strings.Contains(text, fmt.Sprintf("run 5, pid %d", c.Process.Pid)) {
		t.Errorf("message %q", text)
	}
	c.Process.Kill()
	c.Wait()
	if h, err := d.Holder(); err != nil || h != nil {
		t.Errorf("holder after death: %+v, %v", h, err)
	}
	take(t, d, Holder{}).Unlock()
}

// TestHolderNotYetNamed: the lock is held, and the file is empty, torn or still has the note of the one before.
func TestHolderNotYetNamed(t *testing.T) {
	d := open(t, t.TempDir())
	take(t, d, Holder{}).Unlock()
	path := d.file("lock")
	lock := flock.New(path)
	if ok, err := lock.TryLock(); !ok {
		t.Fatal(err)
	}
	defer lock.Unlock()
	whole, err := sealJSON(Holder{Run: 9, PID: os.Getpid(), Started: processStart(os.Getpid()), Boot: Boot()})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"empty": "", "torn": string(whole[:len(whole)/2]), "text": "hello\n",
		"with a rest": string(whole) + "1}\n", "changed": strings.Replace(string(whole), `"run":9`, `"run":8`, 1)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := d.Holder(); err != nil || h == nil || *h != (Holder{}) {
			t.Errorf("%s: holder %+v, %v", name, h, err)
		}
		var held *HeldError
		if _, err := d.Lock(Holder{}); !errors.As(err, &held) || held.Holder != (Holder{}) {
			t.Errorf("%s: lock: %v", name, err)
		}
	}
	dead, err := sealJSON(Holder{Run: 8, PID: os.Getpid(), Started: "1", Boot: Boot()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, dead, 0o600); err != nil {
		t.Fatal(err)
	}
	if h, err := d.Holder(); err != nil || h == nil || h.Run != 8 { // may be alive in another container
		t.Errorf("one who is gone: holder %+v, %v", h, err)
	}
	found := false
	for try := 0; !found && try < 20; try++ { // the machine may be too busy to write in time
		if err := os.WriteFile(path, dead, 0o600); err != nil {
			t.Fatal(err)
		}
		written := make(chan error)
		go func() {
			time.Sleep(10 * time.Millisecond)
			written <- os.WriteFile(path, whole, 0o600)
		}()
		h, err := d.Holder()
		if err = errors.Join(err, <-written); err != nil {
			t.Fatal(err)
		}
		found = h != nil && h.Run == 9
	}
	if !found {
		t.Error("the note of one who is gone is taken for the holder's, who is about to write")
	}
}

// TestLockWhileOthersLook: a look at the lock, however long it lasts, is no holder, and a start only waits for it.
func TestLockWhileOthersLook(t *testing.T) {
	d := open(t, t.TempDir())
	take(t, d, Holder{}).Unlock()
	look := flock.New(d.file("lock"), flock.SetFlag(os.O_RDONLY))
	if ok, err := look.TryRLock(); !ok {
		t.Fatal(err)
	}
	if h, err := d.Holder(); h != nil || err != nil {
		t.Errorf("holder %+v, %v", h, err)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		look.Unlock()
	}()
	take(t, d, Holder{}).Unlock()
}

// TestNote: a reader never sees a mixture of two notes, though they differ in length.
func TestNote(t *testing.T) {
	d := open(t, t.TempDir())
	l := take(t, d, Holder{})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 200 {
				k := i*1000 + n
				if err := l.Note(Holder{Done: k, Total: k, Phase: strings.Repeat("x", k%97)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		h, err := d.Holder()
		if err != nil || h == nil {
			t.Fatalf("holder %+v, %v", h, err)
		}
		if h.Done != h.Total || len(h.Phase) != h.Done%97 {
			t.Fatalf("mixed: %+v", h)
		}
	}
	group.Wait()
	for range 2 {
		if err := l.Unlock(); err != nil {
			t.Error(err)
		}
	}
	if err := l.Note(Holder{Run: 3}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(d.file("lock")); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("after unlock: %v, %v", info, err)
	}
}

// TestLockLost: a lock on a file that no longer has the name is none. Its holder worked on, beside the one who took the new file.
func TestLockLost(t *testing.T) {
	for name, lose := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+"-") },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+"-", nil, 0o600), os.Rename(path+"-", path))
		},
	} {
		d := open(t, t.TempDir())
		old := take(t, d, Holder{Run: 1})
		if err := lose(d.file("lock")); err != nil {
			t.Fatal(err)
		}
		if err := old.Note(Holder{Run: 1}); !errors.Is(err, ErrLockLost) || !strings.Contains(err.Error(), d.file("lock")) {
			t.Errorf("%s: %v", name, err)
		}
		other := take(t, d, Holder{Run: 2})
		if err := old.Note(Holder{Run: 1}); !errors.Is(err, ErrLockLost) {
			t.Errorf("%s, and taken by another: %v", name, err)
		}
		if err := old.Unlock(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if h, err := d.Holder(); err != nil || h == nil || h.Run != 2 {
			t.Errorf("%s: the other's note is %+v, %v", name, h, err)
		}
		if err := other.Note(Holder{Run: 2}); err != nil {
			t.Errorf("%s: the other: %v", name, err)
		}
		other.Unlock()
	}
}

// TestLockSweeps: temporaries and void parts go, when the lock is taken; nothing else does.
func TestLockSweeps(t *testing.T) {
	d := open(t, t.TempDir())
	snapshot(t, d, header(d, 1), lines(2))
	write(t, d, header(d, 2), nil).Leave()
	stale := []string{d.file(temporary + "1"), filepath.Join(d.snapshots(), temporary+"2"), d.partPath(3), d.partPath(4)}
	for i, path := range stale {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", i%4)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if infos := list(t, d); len(infos) != 2 {
		t.Errorf("void parts are listed: %+v", infos)
	}
	take(t, d, Holder{}).Unlock()
	for _, path := range stale {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	if infos := list(t, d); len(infos) != 2 {
		t.Errorf("swept too much: %+v", infos)
	}
}

// TestSweepBesideAWriter: a command that writes while a run or two begin loses nothing to their sweeps.
func TestSweepBesideAWriter(t *testing.T) {
	d := open(t, t.TempDir())
	for i := range 40 {
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
				d.sweep()
			})
		}
		if err := d.SetKill(Kill{At: testHour, Hour: testHour}); err != nil {
			t.Errorf("write %d: %v", i, err)
		}
		group.Wait()
	}
}
