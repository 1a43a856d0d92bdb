// Package cmd is what a person types and sees: one file per command, flags, settings, tables and progress. Nothing else in the
// program prints.
package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// program is one invocation with all that the system gives it, so that a test can run the real thing with a clock of its own.
type program struct {
	args           []string // without the program's own name
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(name string) (value string, set bool)
	environ        func() []string // all variables, as NAME=value; nil for none
	now            func() time.Time
	point          func(name string) // named steps, for crash tests; nil for none
}

// Main runs the program and returns its exit code.
func Main() int {
	return program{
		args:   os.Args[1:],
		stdin:  os.Stdin,
		stdout: os.Stdout,
		stderr: os.Stderr,
		env:    os.LookupEnv, environ: os.Environ,
		now: time.Now,
	}.main()
}

func (p program) main() int {
	ctx, stop := signalContext()
	defer stop()
	root := newRoot(p)
	out := &cobraOutput{w: p.stdout}
	root.SetArgs(p.args)
	root.SetIn(p.stdin)
	root.SetOut(out)
	root.SetErr(p.stderr)
	settleCompletion(root)
	command, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		err = out.error()
	case command.Annotations[begun] == "":
		err = wrongUsage(err, command.CommandPath()+" --help lists what there is")
	}
	p.complain(err)
	return exitCode(err)
}

// cobraOutput is standard output for what cobra prints by itself, help and completion scripts: it keeps the first error, which cobra
// would drop.
type cobraOutput struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (c *cobraOutput) Write(b []byte) (int, error) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
	return len(b), nil
}

// error is nil also for a reader that has seen enough.
func (c *cobraOutput) error() error {
	if errors.Is(c.err, syscall.EPIPE) {
		return nil
	}
	return c.err
}

// signalContext is a context that the first INT, TERM or HUP ends; a second one ends the process at once. A signal that was
// ignored from the start (nohup) stays ignored, and writing to a closed pipe is an error like any other.
func signalContext() (context.Context, func()) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // nobody listens; Ignore would hold for a hook too
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-signals
		cancel(errSignal)
		<-signals
		os.Exit(exitStopped)
	}()
	return ctx, func() { cancel(nil) }
}

const longHelp = `crawl keeps a database of everything that a list of web feeds publishes. System cron starts it, it does one
hour's work, and it exits:

  crawl import feeds.opml
  crawl crontab | crontab -

Exit codes:
  0  done; also when some feeds failed, for some always do
  1  error (disk, database, bug); the message says what to do
  2  wrong usage or configuration
  3  unfinished: deadline reached; the half-check, or the next hour, goes on
  4  outage: our network looked down; nothing was counted against the feeds
  5  stopped by crawl kill or a signal
  6  another process works on this hour (only with --fail-if-running; otherwise that is 0); crawl kill: it still runs
  7  the database is not ours, newer than this program, or damaged; nothing was touched if that is seen at the start`

func newRoot(p program) *cobra.Command {
	c := &cobra.Command{
		Use:           "crawl",
		Short:         "keep a database of everything that a list of web feeds publishes",
		Long:          longHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	wantsVersion := c.Flags().Bool("version", false, "print the version")
	c.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 0:
			return unknownCommand(c, args[0])
		case *wantsVersion:
			return newVersion(p).RunE(c, nil)
		}
		return c.Help()
	}
	c.SetHelpCommand(newHelp())
	c.SetUsageFunc(usage)
	c.SetFlagErrorFunc(wrongFlag)
	flags := c.PersistentFlags()
	addSettings(flags, forAll)
	flags.BoolP("quiet", "q", false, "errors only")
	flags.CountP("verbose", "v", "say what is done (twice: in detail)")
	flags.Bool("json", false, "machine-readable output, of commands that print something")
	for _, newCommand := range []func(program) *cobra.Command{
		newRun, newHalfCheck, newKill, newStatus, newAdd, newList, newResume, newStop, newRemove, newSet, newCategory,
		newImport, newExport, newItems, newCheck, newConfig, newCrontab, newDemo, newVersion,
	} {
		c.AddCommand(newCommand(p))
	}
	completions(p, c)
	return c
}

// wrongUsage is an error that came before a command began, with a hint if it has none of its own: cobra's about flags, arguments and
// command names, and those about settings.
func wrongUsage(err error, hint string) error {
	if usage, already := err.(*usageError); already {
		return usage
	}
	return &usageError{err, hint}
}
