package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The hook is called for every change once, whoever makes it: also for the removal of the only feed, after which no run has anything to
// fetch. Where nothing has changed it is not called.
func TestTheHookHearsOfEveryChange(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "calls")
	w := newWorld(t, healthySite(t, 1), "CRAWL_HOOK=echo $CRAWL_NEW new, $CRAWL_REMOVED removed >> "+out)
	w.subscribe()
	w.silent(runAt(0), "run")
	same(t, "after a run", []string{"3 new, 0 removed"}, lines(t, out))
	w.silent(runAt(0).Add(time.Minute), "remove", "1", "--yes")
	w.silent(halfAt(0), "half-check")
	same(t, "after a removal", []string{"3 new, 0 removed", "0 new, 3 removed"}, lines(t, out))
	for hour := 1; hour < 3; hour++ {
		w.run(runAt(hour), "run").want(0)
		w.silent(halfAt(hour), "half-check")
	}
	same(t, "without changes", []string{"3 new, 0 removed", "0 new, 3 removed"}, lines(t, out))
}

// Where crawl is a link to a program of another name a hook finds crawl all the same, and crontab prints the link, which is there when the
// next version has another name: both took the name of the file.
func TestCrawlIsALink(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "bin")
	link, out := filepath.Join(bin, "crawl"), filepath.Join(bin, "out")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, healthySite(t, 1))
	w.subscribe()
	for hour, name := range []string{link, "./crawl", "../bin/crawl"} {
		w.site.edit(func() { w.site.feeds[0].publish() })
		env := append([]string{"CRAWL_TEST_NOW=" + runAt(hour).Format(time.RFC3339)}, w.env...)
		c := command(t, env, "run", "--hook", "command -v crawl > "+out)
		c.Path, c.Args[0], c.Dir = link, name, bin
		if r := c.run(t); r.code != 0 || r.stderr != "" {
			t.Errorf("%s: code %d, %s", name, r.code, r.stderr)
		}
		same(t, "what the hook of "+name+" finds", []string{link}, lines(t, out))
		c = command(t, w.env, "crontab")
		c.Path, c.Args[0], c.Dir = link, name, bin
		if r := c.run(t); r.code != 0 || strings.Count(r.stdout, " "+link+" ") != 2 {
			t.Errorf("%s: code %d, %s%s", name, r.code, r.stdout, r.stderr)
		}
		if err := os.Remove(out); err != nil {
			t.Fatal(err)
		}
	}

	// A name that is another program's is no way to this one.
	c := command(t, w.env, "crontab")
	c.Args[0] = "sh"
	if r := c.run(t); r.code != 0 || strings.Count(r.stdout, " "+self+" ") != 2 {
		t.Errorf("sh: code %d, %s%s", r.code, r.stdout, r.stderr)
	}
}

// A hook that names another directory finds that one's database, also where the file in the own directory names another: that was taken
// for the setting of every crawl in the hook.
func TestAHookFindsAnotherDirectory(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	few := newWorld(t, healthySite(t, 1))
	few.subscribe()
	few.silent(runAt(0), "run")
	for _, settings := range []string{"", "db = \"other.db\"\n"} {
		many := newWorld(t, healthySite(t, 3))
		if err := os.Mkdir(many.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(many.dir, "crawl.toml"), []byte(settings), 0o600); err != nil {
			t.Fatal(err)
		}
		many.subscribe()
		out := t.TempDir()
		many.silent(runAt(0), "run", "--hook", fmt.Sprintf(
			"cd / && %[1]s items --jsonl --dir %[2]s > %[3]s/few && %[1]s items --jsonl > %[3]s/many", self, few.dir, out))
		for name, site := range map[string]*site{"few": few.site, "many": many.site} {
			if got, want := len(lines(t, filepath.Join(out, name))), len(site.shown()); got != want {
				t.Errorf("settings %q: the hook finds %d of the %d items of %s", settings, got, want, name)
			}
		}
	}
}

// Whoever purges a cache or follows what changes must hear of a database that was put back from a backup, though nothing is new.
func TestTheHookIsCalledOfANewEpoch(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 2)
	w, calls := hooked(t, s, "true")
	w.silent(runAt(0), "run")
	database := filepath.Join(w.dir, "crawl.db")
	backup := filepath.Join(t.TempDir(), "backup.db")
	copyDatabase(t, database, backup)
	w.run(runAt(0), "remove", s.feeds[0].url, "--yes").want(0)
	w.silent(runAt(1), "run")
	copyDatabase(t, backup, database)
	before := len(calls())
	w.run(runAt(2), "run").want(0)
	w.silent(runAt(3), "run")
	if n := len(calls()) - before; n != 1 {
		t.Errorf("the hook was called %d times after the restore", n)
	}
}
