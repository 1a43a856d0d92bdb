package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"crawl/crawl"
)

type crontabOptions struct{ systemd bool }

func newCrontab(p program) *cobra.Command {
	var o crontabOptions
	c := &cobra.Command{
		Use:   "crontab",
		Short: "print the two entries for cron, or units for systemd, with absolute paths",
		Args:  takes(0, 0, ""),
		RunE:  p.with(func(_ context.Context, a *app, _ []string) error { return runCrontab(a, o) }),
	}
	c.Flags().BoolVar(&o.systemd, "systemd", false, "services and timers instead")
	addSettings(c.Flags(), forFetch|forInvoked)
	return c
}

func runCrontab(a *app, o crontabOptions) error {
	path, err := crawl.Executable()
	if err != nil {
		return err
	}
	if strings.Contains(path, "/go-build") {
		a.note("this is a temporary build of go run; build the program first and let it print its own entries")
	}
	flags, err := a.jobFlags()
	if err != nil {
		return err
	}
	jobs := []job{
		{"run", "the hourly run of crawl", a.run.StartMinute, path, flags},
		{"half-check", "what the hourly run of crawl did not finish", (a.run.StartMinute + 30) % 60, path, flags},
	}
	if o.systemd {
		return a.printUnits(jobs)
	}
	return a.printCrontab(jobs)
}

// job is one of the two entries.
type job struct {
	command, does string
	minute        int // of the hour
	path          string
	flags         []string
}

// jobFlags are the flags that a job needs to do what this invocation would: those that were given by flag or variable, for a job
// has neither, and the places that it would not find by its home directory alone. What stands in the file, and defaults, it finds by
// itself.
func (a *app) jobFlags() ([]string, error) {
	home := func(name string) (value string, set bool) {
		if name == "HOME" {
			return a.env(name)
		}
		return "", false
	}
	dir, _ := dataDirectory(nil, nil, home) // without a home directory none is found
	config, _ := configFile(a.dir, nil, nil, home)
	var flags []string
	for _, s := range settingList() {
		o := a.origins[s.name]
		needed, texts := strings.HasPrefix(o.from, "flag ") || strings.HasPrefix(o.from, "variable "), o.texts
		switch s.name {
		case "dir":
			needed, texts = needed || a.dir != dir, []string{a.dir}
		case "config": // of no file at all one that is empty comes nearest
			needed, texts = needed || a.settings.config != config, []string{cmp.Or(a.settings.config, os.DevNull)}
		case "start-minute": // which the entry stands for, even if the directory should forget it
			needed = needed || o.from == fromDirectory && texts[0] != s.def
		case "db":
			texts = []string{a.db}
		case "log-level", "log-format":
			continue
		}
		if !needed {
			continue
		}
		for _, text := range texts {
			if s.secret && withoutPassword(text) != text {
				return nil, &hintedError{fmt.Errorf("%s holds a password, which everybody would see in a crontab", s.name), "set it in the settings file"}
			}
			flags = append(flags, "--"+s.name, text)
		}
	}
	return flags, nil
}

func (a *app) printCrontab(jobs []job) error {
	return a.print(func(w io.Writer) error {
		for _, j := range jobs {
			words := append([]string{j.path, j.command}, j.flags...)
			for i, word := range words {
				if strings.ContainsAny(word, "%\n") {
					return &hintedError{
						fmt.Errorf("cron cannot carry %q: it cuts an entry at %% and at the end of a line", word),
						"crawl.toml in the data directory can hold that setting, and crawl crontab --systemd can carry a %",
					}
				}
				words[i] = shellWord(word)
			}
			if _, err := fmt.Fprintf(w, "%d * * * *  %s\n", j.minute, strings.Join(words, " ")); err != nil {
				return err
			}
		}
		return nil
	})
}

// shellWord quotes a word for sh where it needs that.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune("-_./:=,@+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (a *app) printUnits(jobs []job) error {
	return a.print(func(w io.Writer) error {
		for _, j := range jobs {
			words := append([]string{j.path, j.command}, j.flags...)
			for i, word := range words {
				if strings.ContainsFunc(word, unicode.IsControl) {
					return errors.New("systemd cannot carry a control character in a path")
				}
				words[i] = systemdWord(word)
			}
			if _, err := fmt.Fprintf(w, systemdUnits, j.command, j.does, strings.Join(words, " "), j.minute); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "# then: systemctl --user enable --now crawl-run.timer crawl-half-check.timer\n")
		return err
	})
}

const systemdUnits = `# ~/.config/systemd/user/crawl-%[1]s.service
[Unit]
Description=%[2]s

[Service]
Type=oneshot
ExecStart=%[3]s

# ~/.config/systemd/user/crawl-%[1]s.timer
[Unit]
Description=%[2]s

[Timer]
OnCalendar=*:%02[4]d
AccuracySec=1s

[Install]
WantedBy=timers.target

`

// systemdWord quotes a word for ExecStart (systemd.service, "Command lines"): % and $ mean something there.
func systemdWord(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "$", "$$").Replace(s)
	if strings.ContainsAny(s, " \t\"'\\;") || s == "" {
		return `"` + s + `"`
	}
	return s
}
