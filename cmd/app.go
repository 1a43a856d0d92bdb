package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// app is what a command has at hand: the program, and the settings in force.
type app struct {
	program
	settings
	origins  map[string]origin
	log      *slog.Logger
	logTo    *switchedWriter
	json     bool
	quiet    bool // errors only
	verbose  bool // the level is info or lower
	terminal bool // standard output is one
}

// begun marks a command whose usage was right.
const begun = "begun"

// with makes a command's function: it loads the settings, builds the log, and runs. Errors of run are its own; those before it
// are wrong usage.
func (p program) with(run func(ctx context.Context, a *app, args []string) error) func(*cobra.Command, []string) error {
	return p.withSettings(false, run)
}

// withAnySettings is with for a command that must work even if the settings file or a variable is wrong: it needs the directory alone.
func (p program) withAnySettings(run func(ctx context.Context, a *app, args []string) error) func(*cobra.Command, []string) error {
	return p.withSettings(true, run)
}

func (p program) withSettings(whatever bool, run func(ctx context.Context, a *app, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		s, origins, err := loadSettings(c.Flags(), p.env, fileSource)
		if err != nil && whatever {
			s, origins, err = loadSettings(c.Flags(), p.placeVariables, noFile)
		}
		if err != nil {
			return wrongUsage(err, settingsHint)
		}
		c.Annotations = map[string]string{begun: "yes"}
		a := &app{program: p, settings: s, origins: origins, logTo: &switchedWriter{w: p.stderr}}
		// the flags are registered by newRoot: reading them cannot fail
		quiet, _ := c.Flags().GetBool("quiet")
		verbose, _ := c.Flags().GetCount("verbose")
		a.json, _ = c.Flags().GetBool("json")
		level := logLevel(s, origins["log-level"].from, quiet, verbose)
		a.log = newLog(a.logTo, level, s.logFormat)
		a.quiet, a.verbose = level > slog.LevelWarn, level <= slog.LevelInfo
		a.warnOfVariables()
		a.terminal = p.isTerminal(p.stdout)
		err = run(c.Context(), a, args)
		if errors.Is(err, context.Canceled) {
			err = context.Cause(c.Context())
		}
		return foreign(err, a.dir, os.Geteuid())
	}
}

// crawlConfig is what the crawl package needs.
func (a *app) crawlConfig() crawl.Config {
	f := a.fetch
	f.Now = a.now
	return crawl.Config{
		Dir:      a.dir,
		DB:       a.db,
		OwnDB:    a.origins["db"].from == directorySettings(a.dir),
		Settings: a.run,
		Fetch:    f,
		Log:      a.log,
		Now:      a.now,
		Point:    a.point,
	}
}

// open opens directory and database for a command that works beside a run. It makes neither: the error is a *crawl.MissingError where
// there is no database.
func (a *app) open(ctx context.Context, use func(d *state.Dir, s *store.Store) error) error {
	if err := crawl.CheckPresent(a.crawlConfig()); err != nil {
		return err
	}
	return a.openOrCreate(ctx, use)
}

// openOrCreate is open for a command that brings something into a database.
func (a *app) openOrCreate(ctx context.Context, use func(d *state.Dir, s *store.Store) error) (err error) {
	d, s, err := crawl.OpenStore(ctx, a.crawlConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return use(d, s)
}

// client checks URLs as the fetches of a run will.
func (a *app) client() (*fetch.Client, error) { return fetch.New(a.crawlConfig().Fetch) }

// startMinute is that of the last run, which the directory keeps, else the setting's: for those who speak of what is under way, whatever
// is set where they are typed. What begins something takes the setting, whose default is the kept one.
func (a *app) startMinute(d *state.Dir) (int, error) {
	minute, err := d.StartMinute()
	if minute < 0 {
		minute = a.run.StartMinute
	}
	return minute, err
}

// say prints a line on standard output if that is a terminal or -v was given: what a command did, for those who watch.
func (a *app) say(format string, args ...any) {
	if (a.terminal || a.verbose) && !a.json && !a.quiet {
		_ = a.tell(format, args...) // who watches will see that it failed
	}
}

// tell prints a line that was asked for.
func (a *app) tell(format string, args ...any) error {
	return a.print(func(w io.Writer) error {
		_, err := fmt.Fprintln(w, clean(fmt.Sprintf(format, args...)))
		return err
	})
}

// note prints a line on standard error: something to know, but no error.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.fault(format, args...)
	}
}

// fault prints a line on standard error: something that went wrong and did not end the command.
func (a *app) fault(format string, args ...any) {
	fmt.Fprintf(a.stderr, "crawl: %s\n", clean(fmt.Sprintf(format, args...)))
}
