package cmd

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/store"
)

func newDemo(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "the whole life of crawl on this machine, without network, in some seconds",
		Long: `demo starts a local server with sample feeds, good and broken, and lets crawl import them into a temporary directory, run,
be killed in the middle, half-check, and run again. It says at each step what happened, and leaves nothing behind.`,
		Args: takes(0, 0, ""),
		RunE: p.with(func(ctx context.Context, a *app, _ []string) error { return runDemo(ctx, a) }),
	}
}

// demo is one showing.
type demo struct {
	*app
	site *demoSite
	path string // of this program
	dir  string // temporary
	// minute is when the demo's cron hours begin: now, so that none begins while it is shown.
	minute int
}

func runDemo(ctx context.Context, a *app) (err error) {
	d := demo{app: a, minute: a.now().Minute()}
	if d.path, err = crawl.Executable(); err != nil {
		return err
	}
	if d.dir, err = os.MkdirTemp("", "crawl-demo-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.dir)) }()
	if d.site, err = openDemoSite(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.site.close()) }()

	for _, step := range []func(context.Context) error{
		d.importFeeds, d.runAndKill, d.halfCheck, d.runAgain, d.nextRound, d.showTroubles, d.showRows,
	} {
		if err := step(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	d.tellf("\nThat was all. The temporary directory is gone again; crawl --help lists the commands.")
	return nil
}

func (d *demo) importFeeds(ctx context.Context) error {
	d.tellf("A server on this machine has %d feeds, good and broken. Their list is an OPML file.", len(d.site.feeds))
	var file bytes.Buffer
	if err := writeOPML(&file, d.site.feeds); err != nil {
		return err
	}
	path := filepath.Join(d.dir, "feeds.opml")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		return err
	}
	if err := d.crawl(ctx, "import", path); err != nil {
		return err
	}
	return d.crawl(ctx, "category", "list")
}

// runAndKill kills the run when the quick feeds are stored and the slow ones are still under way.
func (d *demo) runAndKill(ctx context.Context) error {
	d.tellf("\nThe hourly run. %d feeds are slow; before they answer, the run is killed (kill -9).", demoSlow)
	c := d.command(ctx, 4*time.Second, "run")
	if err := c.Start(); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 3500*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		if n, err := d.items(); d.site.atGate() == demoSlow && err == nil && n == demoQuickItems {
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the run: %w", err)
	}
	_ = c.Wait() // killed, as was meant
	close(d.site.gate)
	n, err := d.items()
	requests, _ := d.site.count()
	d.tellf("  It had asked %s. In the database already: %s.", store.Count(requests, "server"), store.Count(n, "item"))
	return err
}

func (d *demo) halfCheck(ctx context.Context) error {
	d.tellf("\nHalf an hour later cron starts the half-check, which finds that the run did not finish.")
	if err := d.crawl(ctx, "half-check"); err != nil {
		return err
	}
	n, err := d.items()
	requests, _ := d.site.count()
	d.tellf("  It asked only %s: those that the killed run had not stored. Now there are %s.", store.Count(requests, "server"), store.Count(n, "item"))
	return err
}

func (d *demo) runAgain(ctx context.Context) error {
	d.tellf("\nThe run, once more in the same hour: everything is done, so it does nothing and says nothing.")
	if err := d.crawl(ctx, "run"); err != nil {
		return err
	}
	requests, _ := d.site.count()
	d.tellf("  It made %s.", store.Count(requests, "request"))
	return nil
}

func (d *demo) nextRound(ctx context.Context) error {
	before, err := d.number(`SELECT max(seq) FROM changes`)
	if err != nil {
		return err
	}
	d.site.change()
	d.tellf("\nOne feed changes a title and adds an item. We will not wait an hour for the next run: --force begins one now.")
	if err := d.crawl(ctx, "run", "--force", "-v"); err != nil {
		return err
	}
	requests, notModified := d.site.count()
	d.tellf("  It made %s; %d were answered \"not modified\". What changed, for programs that follow:", store.Count(requests, "request"), notModified)
	return d.crawl(ctx, "items", "--after", fmt.Sprint(before))
}

func (d *demo) showTroubles(ctx context.Context) error {
	d.tellf("\nThe broken feeds cost nobody else anything. Each has its reason; five failures in a row would stop it.")
	return d.crawl(ctx, "list", "--failing")
}

func (d *demo) showRows(context.Context) error {
	const query = `SELECT coalesce(feeds.own_title, feeds.title), count(*) FROM items JOIN feeds ON feeds.id = items.feed_id GROUP BY feeds.id ORDER BY feeds.id`
	d.tellf("\nThe database is the interface. Any program can read it:\n$ sqlite3 -readonly crawl.db %q", query)
	return d.query(func(db *sql.DB) error {
		rows, err := db.Query(query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var title string
			var n int
			if err := rows.Scan(&title, &n); err != nil {
				return err
			}
			d.tellf("  %s|%d", title, n)
		}
		return rows.Err()
	})
}

// items counts the items in the database; an error while there is no database yet.
func (d *demo) items() (int, error) { return d.number(`SELECT count(*) FROM items`) }

func (d *demo) number(query string) (n int, err error) {
	err = d.query(func(db *sql.DB) error { return db.QueryRow(query).Scan(&n) })
	return n, err
}

// query opens the database as another program would, read-only.
func (d *demo) query(use func(*sql.DB) error) error {
	place := url.URL{Scheme: "file", Path: filepath.Join(d.dir, "data", "crawl.db"), RawQuery: "mode=ro&_busy_timeout=500"}
	db, err := sql.Open("sqlite3", place.String())
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}

// crawl runs this program as a child, and shows the command and what it printed.
func (d *demo) crawl(ctx context.Context, args ...string) error {
	c := d.command(ctx, time.Second, args...)
	out, err := c.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		d.tellf("  %s", strings.TrimRight(line, "\n"))
	}
	if err != nil {
		return fmt.Errorf("demo: crawl %s: %w", args[0], err)
	}
	return nil
}

// command is this program with the environment that cron would give it, and a time-out for fetches that suits a demo.
func (d *demo) command(ctx context.Context, timeout time.Duration, args ...string) *exec.Cmd {
	d.tellf("$ crawl %s", strings.Join(args, " "))
	if args[0] == "run" || args[0] == "half-check" || args[0] == "import" {
		args = append(args, "--allow-net", "127.0.0.0/8", "--timeout", timeout.String(), "--start-minute", fmt.Sprint(d.minute))
	}
	c := exec.CommandContext(ctx, d.path, append(args, "--dir", filepath.Join(d.dir, "data"))...)
	c.Env = []string{"HOME=" + d.dir, "PATH=/usr/bin:/bin"}
	if zone, set := d.env("TZ"); set {
		c.Env = append(c.Env, "TZ="+zone)
	}
	return c
}

func (d *demo) tellf(format string, args ...any) {
	fmt.Fprintf(d.stdout, format+"\n", args...)
}
