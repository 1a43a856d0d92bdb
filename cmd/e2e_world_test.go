package cmd

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
)

// world is one data directory whose program crawls one site, at instants that the test chooses.
type world struct {
	t    testing.TB
	site *site
	dir  string
	env  []string
}

// newWorld makes an empty data directory. Settings are of the form "CRAWL_TIMEOUT=2s".
func newWorld(t testing.TB, s *site, settings ...string) *world {
	t.Helper()
	w := &world{t: t, site: s, dir: filepath.Join(t.TempDir(), "data")}
	w.env = append([]string{"CRAWL_DIR=" + w.dir, "CRAWL_ALLOW_NET=127.0.0.0/8"}, settings...)
	return w
}

// firstHour is the local 10:30:05 at which the first run of every test starts, whatever the time zone.
func firstHour() time.Time { return time.Date(2026, 11, 30, 10, 30, 5, 0, time.Local) }

// runAt is when cron starts the n-th hour's run, halfAt its half-check. Hours count from 0.
func runAt(n int) time.Time { return firstHour().Add(time.Duration(n) * time.Hour) }

func halfAt(n int) time.Time { return runAt(n).Add(30 * time.Minute) }

// hourOf is the n-th cron hour as the database has it.
func hourOf(n int) string { return runAt(n).Add(-5 * time.Second).UTC().Format(time.RFC3339) }

// with is the same world under more environment, e.g. "CRAWL_TEST_KILL=flag-up".
func (w *world) with(env ...string) *world {
	other := *w
	other.env = append(slices.Clone(w.env), env...)
	return &other
}

// start starts the program at an instant.
func (w *world) start(at time.Time, args ...string) *process {
	w.t.Helper()
	c := command(w.t, append(slices.Clone(w.env), "CRAWL_TEST_NOW="+at.Format(time.RFC3339)), args...)
	p := begin(w.t, c, args)
	p.site = w.site
	return p
}

// run starts the program and waits for its end.
func (w *world) run(at time.Time, args ...string) ending {
	w.t.Helper()
	return w.start(at, args...).wait()
}

// silent runs the program, which must end with code 0 and print nothing.
func (w *world) silent(at time.Time, args ...string) {
	w.t.Helper()
	w.run(at, args...).want(0).wantSilence()
}

// subscribe imports these feeds (none given: all of the site's).
func (w *world) subscribe(feeds ...*siteFeed) {
	w.t.Helper()
	if e := w.run(runAt(0).Add(-time.Hour), "import", w.site.opml(feeds...)); e.code != 0 {
		w.t.Fatalf("import: %s", e)
	}
}

// process is the program under way.
type process struct {
	t     testing.TB
	site  *site // nil: the test's own affair
	child *child
	args  string
	began time.Time
}

func begin(t testing.TB, c *child, args []string) *process {
	t.Helper()
	p := &process{t: t, child: c, args: strings.Join(args, " "), began: time.Now()}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ProcessState == nil {
			c.Process.Kill()
			c.Wait()
		}
	})
	return p
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.child.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait waits for its end. Of one that was stopped or killed the site has seen all requests then.
func (p *process) wait() ending {
	p.t.Helper()
	r := p.child.end(p.t)
	status := p.child.ProcessState.Sys().(syscall.WaitStatus)
	e := ending{p.t, p.args, r, status.Signaled() && status.Signal() == syscall.SIGKILL, time.Since(p.began)}
	if p.site != nil && (e.killed || e.code == exitStopped) {
		p.site.clients.settle(p.t)
	}
	return e
}

// ending is how a process ended.
type ending struct {
	t    testing.TB
	args string
	result
	killed  bool // by SIGKILL
	elapsed time.Duration
}

func (e ending) String() string {
	return fmt.Sprintf("crawl %s: code %d, killed %v, after %v\nstdout: %s\nstderr: %s", e.args, e.code, e.killed, e.elapsed, e.stdout, e.stderr)
}

func (e ending) want(code int) ending {
	e.t.Helper()
	if e.code != code {
		e.t.Fatalf("want code %d of %s", code, e)
	}
	return e
}

func (e ending) wantSilence() ending {
	e.t.Helper()
	if e.stdout != "" || e.stderr != "" {
		e.t.Fatalf("want silence of %s", e)
	}
	return e
}

func (e ending) wantKilled() ending {
	e.t.Helper()
	if !e.killed {
		e.t.Fatalf("want death by SIGKILL of %s", e)
	}
	return e
}

// query returns rows as text, NULL as "NULL", columns separated by " | ".
func (w *world) query(query string, args ...any) []string {
	w.t.Helper()
	rows, err := w.tryQuery(query, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// number is query for one number.
func (w *world) number(query string, args ...any) int {
	w.t.Helper()
	rows := w.query(query, args...)
	n := 0
	if len(rows) != 1 {
		w.t.Fatalf("%s: %d rows", query, len(rows))
	}
	if _, err := fmt.Sscan(rows[0], &n); err != nil {
		w.t.Fatalf("%s: %q: %v", query, rows[0], err)
	}
	return n
}

// tryQuery opens the database for this one query, so that nothing of the test stays beside the program.
func (w *world) tryQuery(query string, args ...any) ([]string, error) {
	dsn := url.URL{Scheme: "file", Path: filepath.Join(w.dir, "crawl.db"), RawQuery: "mode=rw&_busy_timeout=10000&_query_only=1"}
	db, err := sql.Open("sqlite3", dsn.String())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var list []string
	for rows.Next() {
		values, targets := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		list = append(list, joinRow(values))
	}
	return list, rows.Err()
}

// awaitItems waits until so many items are in the database, which must be while the run goes on, for results are merged as they come.
func (w *world) awaitItems(n int, run *process) {
	w.t.Helper()
	stored := ""
	await(w.t, fmt.Sprint(n, " items in the database"), func() bool {
		if rows, err := w.tryQuery("SELECT count(*) FROM items"); err == nil {
			stored = rows[0]
		}
		if state := processState(w.t, run.child.Process.Pid); state == 'Z' {
			w.t.Fatalf("the run ended with %s items in the database, not %d", stored, n)
		}
		return stored == fmt.Sprint(n)
	})
}

// await waits for what comes by itself, at most a minute.
func await(t testing.TB, what string, here func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !here(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func joinRow(values []sql.RawBytes) string {
	var texts []string
	for _, v := range values {
		if v == nil {
			texts = append(texts, "NULL")
			continue
		}
		texts = append(texts, string(v))
	}
	return strings.Join(texts, " | ")
}

// files lists the data directory below its root: name, size and time of change.
func (w *world) files() []string {
	w.t.Helper()
	var list []string
	err := filepath.Walk(w.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		name, _ := filepath.Rel(w.dir, path)
		list = append(list, fmt.Sprintf("%s %d %s", name, info.Size(), info.ModTime().Format(time.RFC3339Nano)))
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// difference lists what is in only one of two lists: "- " only in the first, "+ " only in the second.
func difference(before, after []string) []string {
	count := map[string]int{}
	for _, line := range before {
		count[line]++
	}
	var list []string
	for _, line := range after {
		if count[line]--; count[line] < 0 {
			list = append(list, "+ "+line)
		}
	}
	for _, line := range before {
		if count[line] > 0 {
			count[line]--
			list = append(list, "- "+line)
		}
	}
	slices.Sort(list)
	return list
}

// same fails the test when two lists differ, with the first differences.
func same(t testing.TB, what string, want, got []string) {
	t.Helper()
	diff := difference(want, got)
	if len(diff) == 0 {
		return
	}
	shown := diff[:min(len(diff), 10)]
	t.Fatalf("%s: %d differences (- wanted, + got):\n%s", what, len(diff), strings.Join(shown, "\n"))
}

// at is the environment that starts the program at an instant.
func (w *world) at(now time.Time) []string {
	return append(append([]string(nil), w.env...), "CRAWL_TEST_NOW="+now.Format(time.RFC3339))
}

// unshared runs the program in namespaces of its own, after a shell has prepared them. It skips the test where that is not allowed.
func (w *world) unshared(namespaces []string, prepare string, env []string, args ...string) ending {
	w.t.Helper()
	if os.Getuid() != 0 {
		namespaces = append([]string{"--user", "--map-root-user"}, namespaces...)
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		w.t.Skip("skipped: no unshare(1)")
	}
	if out, err := exec.Command(unshare, append(namespaces, "true")...).CombinedOutput(); err != nil {
		w.t.Skipf("skipped: unshare %v: %s", namespaces, strings.TrimSpace(string(out)))
	}
	c := command(w.t, env, args...)
	self := c.Path
	c.Path = unshare
	c.Args = append(append([]string{"unshare"}, namespaces...), append([]string{"sh", "-c", prepare + `exec "$@"`, "sh", self}, args...)...)
	return begin(w.t, c, args).wait()
}

// mounted is want(0), but a script that ended with code 99 could not mount, and skips the test.
func (e ending) mounted() ending {
	e.t.Helper()
	if e.code == 99 {
		e.t.Skipf("skipped: mount: %s", strings.TrimSpace(e.stderr))
	}
	return e.want(0)
}
