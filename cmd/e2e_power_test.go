package cmd

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The power goes at a random moment of a run, or right after it: what was said to be done is done, and the half-check comes to the rows
// of an undisturbed run. The file system is a real one whose device is shut down (FS_IOC_SHUTDOWN).
func TestConvergesAfterAPowerCut(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"/usr/sbin/mkfs.ext4", "/usr/bin/perl", "/dev/loop-control"} {
		if _, err := os.Stat(tool); err != nil || os.Getuid() != 0 {
			t.Skipf("skipped: not root, or no %s", tool)
		}
	}
	trials, seed := 3, uint64(time.Now().UnixNano())
	if long() {
		trials = 30
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	s := killableSite(t)
	undisturbed := newWorld(t, s)
	undisturbed.subscribe()
	began := time.Now()
	undisturbed.silent(runAt(0), "run")
	usual := time.Since(began)
	want := undisturbed.content()
	for n := range trials {
		after := "wait" // right after "done"
		if n > 0 {
			after = fmt.Sprintf("sleep %.4f", random.Float64()*usual.Seconds())
		}
		s.cut()
		w, e := powerCut(t, s, after, 1+n%2)
		if !strings.HasSuffix(e.stdout, "half-check 0\nhalf-check 0\n") {
			t.Fatalf("%s: %s", after, e)
		}
		atMost(t, 2, s.requests())
		if n == 0 {
			eachOnce(t, s.cut(), s.feeds)
		}
		w.storedOnce()
		w.sound()
		w.unblamed()
		same(t, "rows after a power cut, "+after, want, w.content())
	}
}

// powerCut imports and starts a run on a file system of its own, cuts its power after some shell command (with the journal flushed, 1, or not, 2),
// mounts it again and runs two half-checks, the second of which must find nothing to do. The world's directory is a copy of what remains.
func powerCut(t *testing.T, s *site, after string, how int) (*world, ending) {
	t.Helper()
	w := newWorld(t, s)
	root := filepath.Dir(w.dir)
	if out, err := exec.Command("sh", "-c", "cd "+root+" && mkdir disk copy && truncate -s 32M image && /usr/sbin/mkfs.ext4 -q -F image").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at := func(at time.Time, args string) string {
		return "CRAWL_TEST_NOW=" + at.Format(time.RFC3339) + ` "$1" ` + args
	}
	script := strings.Join([]string{
		"cd " + root,
		"mount -o loop image disk || exit 99",
		"export CRAWL_DIR=" + root + "/disk/data",
		at(runAt(-1), "import "+s.opml()) + " || exit 98",
		at(runAt(0), "run") + " 2>/dev/null &",
		after,
		fmt.Sprintf(`perl -e '$how = pack("L", %d); open(F, "<", "disk") or die; ioctl(F, 0x8004587d, $how) or die $!' || exit 97`, how),
		"kill -9 $! 2>/dev/null; wait",
		"umount disk && mount -o loop image disk || exit 96",
		at(halfAt(0), "half-check") + "; echo half-check $?",
		at(halfAt(0), "half-check") + "; echo half-check $?",
		"find disk/data -name '*.part' -o -name run.json -o -name '*tmp*'",
		"cp disk/data/crawl.db copy && umount disk; exit 0; ",
	}, "\n")
	e := w.unshared([]string{"--mount"}, script, w.env).want(0)
	w.dir = filepath.Join(root, "copy")
	return w, e
}
