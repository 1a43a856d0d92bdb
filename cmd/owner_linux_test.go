package cmd

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const nobody = 65534

// Root's commands in another user's directory leave all files that user's, also where one dies in the middle: the database was root's,
// and the user could not read the own feeds any more.
func TestRootCrawlsInAnothersDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can give files away")
	}
	w := newWorld(t, healthySite(t, 3))
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(w.dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	check := func(step string, must ...string) {
		t.Helper()
		seen := map[string]bool{}
		err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			if st := info.Sys().(*syscall.Stat_t); st.Uid != nobody || st.Gid != nobody {
				t.Errorf("%s: %s belongs to %d:%d", step, path, st.Uid, st.Gid)
			}
			seen[d.Name()] = true
			return nil
		})
		for _, name := range must {
			if !seen[name] || err != nil {
				t.Errorf("%s: no %s among %v, %v", step, name, seen, err)
			}
		}
	}
	w.with("CRAWL_TEST_KILL=migrate-mid").run(runAt(0), "import", w.site.opml()).wantKilled()
	check("a death while the database is made", "crawl.db.new", "lock", "id")
	w.subscribe()
	check("import", "crawl.db")
	w.with("CRAWL_TEST_KILL=merge-mid").run(runAt(0), "run").wantKilled()
	check("a death in the middle", "crawl.db", "crawl.db-wal", "crawl.db-shm", "run.json", "snapshots")
	w.silent(halfAt(0), "half-check")
	check("half-check", "crawl.db", "1.jsonl")

	// The user must reach the directory; the test binary's own may be barred, but a process always reaches its program.
	c := command(t, w.env, "list")
	for _, path := range []string{filepath.Dir(w.dir), filepath.Dir(filepath.Dir(w.dir)), c.Path} { // whatever the umask is
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c.Path = "/proc/self/exe"
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if r := c.run(t); r.code != 0 {
		t.Errorf("the user's own list: code %d, %s", r.code, r.stderr)
	}
}
