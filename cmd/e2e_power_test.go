package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The power goes at a random moment of a run, or right after it: what was said to be done is done, and the half-check comes to the rows
// of an undisturbed run.
func TestConvergesAfterAPowerCut(t *testing.T) {
	t.Parallel()
	needsPower(t)
	trials := 2
	if long() {
		trials = 30
	}
	random := seeded(t)
	s := killableSite(t)
	undisturbed := newWorld(t, s)
	undisturbed.subscribe()
	began := time.Now()
	undisturbed.silent(runAt(0), "run")
	usual := time.Since(began)
	want := undisturbed.content()
	for n := range trials {
		cut := powerCut{run: "run & wait"} // right after "done"
		if n > 0 {
			cut.run = fmt.Sprintf("run & sleep %.4f", random.Float64()*usual.Seconds())
		}
		s.cut()
		w, said := cut.converge(t, s)
		if n == 0 {
			eachOnce(t, s.cut(), s.feeds)
		}
		atMost(t, 2, s.requests())
		same(t, "rows after a power cut after "+cut.run, want, w.content())
		if said != "" {
			t.Fatalf("left after %s: %s", cut.run, said)
		}
	}
}

// What a commit acknowledged is in the database after the power went, though the process died at once.
func TestACommitOutlivesThePower(t *testing.T) {
	t.Parallel()
	needsPower(t)
	s := killableSite(t)
	cut := powerCut{run: "CRAWL_TEST_KILL=merge-after-commit", before: `list --json | grep -c '"last_success_at": "2'`}
	w, said := cut.converge(t, s)
	if n := w.appended(); said != fmt.Sprintln(n) || n == 0 {
		t.Fatalf("of %d feeds in a merge the database has: %s", n, said)
	}
	w.askedTheRest()
}

// A snapshot that is about to be merged outlives it, too: the half-check asks nobody.
func TestASnapshotOutlivesThePower(t *testing.T) {
	t.Parallel()
	needsPower(t)
	s := killableSite(t)
	w, _ := powerCut{run: "CRAWL_TEST_KILL=merge-begin"}.converge(t, s)
	w.askedTheRest()
}

// appended is how many results the run that was killed had written into snapshots: all, unless the machine was so slow that some were
// merged while others were to come.
func (w *world) appended() int {
	w.t.Helper()
	n := 0
	for _, name := range lines(w.t, filepath.Join(filepath.Dir(w.dir), "points")) {
		if name == "part-append" {
			n++
		}
	}
	return n
}

// askedTheRest checks that the half-check asked no feed again whose result the run had written.
func (w *world) askedTheRest() {
	w.t.Helper()
	log, feeds := w.site.cut(), len(w.site.feeds)
	atMost(w.t, 2, log)
	if n := w.appended(); n == 0 || len(log) < feeds || len(log) > 2*feeds-n {
		w.t.Fatalf("%d requests in all for %d feeds, of which %d had their result", len(log), feeds, n)
	}
}

// needsPower skips the test where no file system's device can be shut down.
func needsPower(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"/usr/sbin/mkfs.ext4", "/usr/bin/perl", "/dev/loop-control"} {
		if _, err := os.Stat(tool); err != nil || os.Getuid() != 0 {
			t.Skipf("skipped: not root, or no %s", tool)
		}
	}
}

// powerCut is a run on a file system of its own (ext4) whose device is shut down (FS_IOC_SHUTDOWN, without a last flush of the journal).
type powerCut struct {
	run    string // "VARIABLE=value" of a run that kills itself, or "run & …" with what is waited for before the cut
	before string // a command to be run before the half-check; its output is said
}

// converge imports, runs, cuts the power, mounts again and runs two half-checks, the second of which must find nothing to do. Then it
// checks a copy of the database, which is the world's from then on. It returns what before said, and names of files left over.
func (c powerCut) converge(t *testing.T, s *site) (*world, string) {
	t.Helper()
	w := newWorld(t, s)
	root := filepath.Dir(w.dir)
	prepare := exec.Command("sh", "-c", "mkdir disk copy && truncate -s 32M image && /usr/sbin/mkfs.ext4 -q -F image")
	prepare.Dir = root
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	crawl := func(at time.Time, args string) string {
		return "CRAWL_TEST_NOW=" + at.Format(time.RFC3339) + ` "$1" ` + args
	}
	variable, wait := c.run+" CRAWL_TEST_POINTS="+root+"/points", "wait"
	if rest, found := strings.CutPrefix(c.run, "run & "); found {
		variable, wait = "", rest
	}
	before := "true"
	if c.before != "" {
		before = crawl(halfAt(0), c.before)
	}
	e := w.unshared([]string{"--mount"}, strings.Join([]string{
		"cd " + root,
		"mount -o loop image disk || exit 99",
		"export CRAWL_DIR=" + root + "/disk/data",
		crawl(runAt(-1), "import "+s.opml()) + " || exit 98",
		variable + " " + crawl(runAt(0), "run") + " >/dev/null 2>&1 &",
		wait,
		`perl -e '$how = pack("L", 2); open(F, "<", "disk") or die; ioctl(F, 0x8004587d, $how) or die $!' || exit 97`,
		"kill -9 $! 2>/dev/null; wait",
		"umount disk && mount -o loop image disk || exit 96",
		before,
		crawl(halfAt(0), "half-check") + " || exit 95",
		crawl(halfAt(0), "half-check") + " || exit 94",
		"find disk/data -name '*.part' -o -name run.json -o -name '*tmp*'",
		"cp disk/data/crawl.db copy && umount disk; exit 0; ",
	}, "\n"), w.env).mounted()
	w.dir = filepath.Join(root, "copy")
	w.storedOnce()
	w.sound()
	w.unblamed()
	return w, e.stdout
}
