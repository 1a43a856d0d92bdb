package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// leaves are the commands below c that do something, as they are typed.
func leaves(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.Runnable() {
			names = append(names, strings.TrimPrefix(sub.CommandPath(), "crawl "))
		}
		names = append(names, leaves(sub)...)
	}
	return names
}

// A command that brings nothing into a database makes neither a directory nor a database, where a typing mistake or a disk that is not
// mounted leads it. What would change something says so.
func TestAMissingDirectoryStaysMissing(t *testing.T) {
	t.Parallel()
	opml := filepath.Join(t.TempDir(), "feeds.opml")
	if err := os.WriteFile(opml, []byte(`<opml><body><outline xmlUrl="https://a.example/"/></body></opml>`), 0o600); err != nil {
		t.Fatal(err)
	}
	const nothing = "there is no database at "
	tests := map[string]struct {
		args string // "-": the command makes a directory, or is none of ours
		code int
		says string
	}{
		"run": {"", 1, nothing}, "half-check": {"", 1, nothing}, "kill": {"", 0, ""}, "status": {"", 0, ""},
		"add": {"-", 0, ""}, "list": {"", 1, nothing}, "resume": {"--all", 1, nothing}, "stop": {"5", 1, nothing},
		"remove": {"5 --yes", 1, nothing}, "set": {"5 --title T", 1, nothing},
		"category": {"", 1, nothing}, "category list": {"", 1, nothing}, "category set": {"-", 0, ""},
		"category rename": {"A B", 1, nothing}, "category remove": {"A", 1, nothing},
		"import": {"--dry-run " + opml, 0, ""}, "export": {"", 1, nothing}, "items": {"", 1, nothing}, "check": {opml, 1, ""},
		"config": {"", 0, ""}, "crontab": {"", 0, ""}, "demo": {"-", 0, ""}, "version": {"", 0, ""}, "help": {"", 0, ""},
	}
	for _, name := range leaves(newRoot(testProgram())) {
		test, known := tests[name]
		if !known {
			t.Errorf("crawl %s is not in the table", name)
		}
		if test.args == "-" || !known {
			continue
		}
		dir := filepath.Join(t.TempDir(), "typo")
		mountPoint := t.TempDir()
		for _, where := range [][]string{{"--dir", dir}, {"--dir", mountPoint, "--db", filepath.Join(dir, "crawl.db")}, {"--dir", mountPoint}} {
			r := command(t, nil, append(append(strings.Fields(name), where...), strings.Fields(test.args)...)...).run(t)
			if _, err := os.Stat(dir); r.code != test.code || !strings.Contains(r.stderr, test.says) || err == nil {
				t.Errorf("crawl %s %s: code %d, %q; the directory: %v", name, strings.Join(where, " "), r.code, r.stderr, err)
			}
		}
		if left, err := os.ReadDir(mountPoint); test.says == nothing && len(left) > 0 || err != nil {
			t.Errorf("crawl %s made %v, %v", name, left, err)
		}
	}
}

// Where a database was and is gone, because its disk is not there, no command puts an empty one in its place, and each says the same. What
// they advise works.
func TestALostDatabaseIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	c := newCrawler(t)
	opml := filepath.Join(t.TempDir(), "feeds.opml")
	if err := os.WriteFile(opml, []byte(`<opml><body><outline xmlUrl="https://a.example/"/></body></opml>`), 0o600); err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	c.env = append(c.env, "CRAWL_DB="+filepath.Join(disk, "crawl.db"))
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	c.ok("run")
	if err := os.Rename(disk, disk+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run"}, {"half-check"}, {"add", c.url + "/blog.atom"}, {"import", opml}, {"category", "set", "A", "--ranked"},
		{"import", "--dry-run", opml}, {"stop", "1"}, {"list"}, {"run", "--dry-run"}, {"status"}, {"status", "--check"}, {"status", "--json"},
		{"items"}, {"export"}, {"category"}, {"resume", "--all"}, {"remove", "1", "--yes"}, {"set", "1", "--title", "T"},
	} {
		r := command(t, c.env, args...).run(t)
		if left, err := os.ReadDir(disk); len(left) > 0 || err != nil {
			t.Fatalf("crawl %s made %v, %v", strings.Join(args, " "), left, err)
		}
		if r.code != 1 || !strings.Contains(r.stderr, disk+"/crawl.db is gone, though ") || !strings.Contains(r.stderr, "\nhint: end what may still run with crawl kill, then put it back, or begin anew") {
			t.Errorf("crawl %s: code %d, %q", strings.Join(args, " "), r.code, r.stderr)
		}
	}
	c.ok("import", opml, "--dir", filepath.Join(t.TempDir(), "other"))
	if err := os.RemoveAll(disk); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(disk+".away", disk); err != nil {
		t.Fatal(err)
	}
	c.ok("run")
	if list := c.ok("list"); !strings.Contains(list, "/news.rss") {
		t.Errorf("the list is %q", list)
	}
}

// What is advised where the database is damaged works.
func TestWhatIsAdvisedOfADamagedDatabase(t *testing.T) {
	t.Parallel()
	c, dir := newCrawler(t), t.TempDir()
	c.env = append(c.env, "CRAWL_DIR="+dir)
	c.ok("add", "--no-fetch", c.url+"/news.rss")
	c.ok("run")
	path := filepath.Join(dir, "crawl.db")
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	advice := "\nhint: end what may still run with crawl kill; move the database, its -wal and its -shm away together; then put a backup in its place, or begin anew with another directory"
	if r := command(t, c.env, "run").run(t); r.code != 7 || !strings.Contains(r.stderr, advice) {
		t.Fatalf("code %d, %q", r.code, r.stderr)
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + ending); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	c.ok("add", "--no-fetch", c.url+"/news.rss", "--dir", filepath.Join(t.TempDir(), "other"))
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	c.ok("run")
	if list := c.ok("list"); !strings.Contains(list, "/news.rss") {
		t.Errorf("the list is %q", list)
	}
}
