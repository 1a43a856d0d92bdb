package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/term"

	"crawl/state"
	"crawl/store"
)

// longestPassword bounds what is read of a password file, in bytes.
const longestPassword = 4096

// setOptions are the flags of `crawl set`; nil is not given.
type setOptions struct {
	url, title, category         *string
	minInterval, user, userAgent *string
	proxy, passwordFile          *string
	header                       []string
	insecure                     *bool
}

func newSet(p program) *cobra.Command {
	c := &cobra.Command{
		Use:   "set FEED",
		Short: "settings of one feed",
		Long: `set changes a feed's address, title, category or its own settings for fetching. An empty value takes a
setting back. A password is read from a file or asked for, never given as an argument, and never shown.`,
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	f.String("url", "", "its address")
	f.String("title", "", "its title, instead of its own")
	f.String("category", "", "its category")
	f.String("min-interval", "", "between two fetches, at least; 0 or empty: the general one")
	f.String("user", "", "for HTTP authentication; empty: none")
	f.String("password-file", "", "whose first line is the password; - is standard input")
	f.StringArray("header", nil, "`NAME: VALUE` to send (repeatable); without a value: no longer")
	f.String("user-agent", "", "what to call ourselves to this site")
	f.String("proxy", "", "fetch through this proxy")
	f.Bool("insecure", false, "do not verify this site's certificate")
	addSettings(f, forFetch, "min-interval", "user-agent", "proxy")
	c.RunE = p.with(func(ctx context.Context, a *app, args []string) error {
		return runSet(ctx, a, args[0], givenSetOptions(c))
	})
	return c
}

// givenSetOptions reads the flags that were given; those of their types cannot fail to be read.
func givenSetOptions(c *cobra.Command) setOptions {
	f := c.Flags()
	text := func(name string) *string {
		if !f.Changed(name) {
			return nil
		}
		value, _ := f.GetString(name)
		return &value
	}
	o := setOptions{
		url: text("url"), title: text("title"), category: text("category"), minInterval: text("min-interval"),
		user: text("user"), userAgent: text("user-agent"), proxy: text("proxy"), passwordFile: text("password-file"),
	}
	o.header, _ = f.GetStringArray("header")
	if f.Changed("insecure") {
		value, _ := f.GetBool("insecure")
		o.insecure = &value
	}
	return o
}

func (o setOptions) empty() bool {
	for _, p := range []*string{o.url, o.title, o.category, o.minInterval, o.user, o.userAgent, o.proxy, o.passwordFile} {
		if p != nil {
			return false
		}
	}
	return len(o.header) == 0 && o.insecure == nil
}

func runSet(ctx context.Context, a *app, ref string, o setOptions) error {
	if o.empty() {
		return &usageError{errors.New("nothing to set"), "crawl set --help lists what there is"}
	}
	edit := store.FeedEdit{Title: o.title}
	if o.category != nil {
		name := clean(*o.category)
		if name == "" {
			name = store.Uncategorized
		}
		edit.Category = &name
	}
	var to address
	if o.url != nil {
		var err error
		if to, err = a.address(*o.url); err != nil || to.url == "" {
			return &usageError{fmt.Errorf("--url: %w", cmpError(err, "an address is needed")), hint(err)}
		}
		edit.URL = &to.url
	}
	password, err := a.password(ctx, o, to)
	if err != nil {
		return err
	}
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		feed, err := s.FindFeed(ctx, ref)
		if err != nil {
			return err
		}
		settings := feed.Settings
		if err := o.apply(&settings, to, password); err != nil {
			return err
		}
		edit.Settings = &settings
		return s.EditFeed(ctx, feed.ID, edit, a.now())
	})
}

// cmpError is err, or a new one for nil.
func cmpError(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// apply changes a feed's settings by the flags that were given. password is nil where none was read.
func (o setOptions) apply(s *store.FeedSettings, to address, password *string) error {
	if o.minInterval != nil {
		s.MinInterval = 0
		if *o.minInterval != "" {
			d, err := parseSpan(*o.minInterval, 0, 365*24*time.Hour)
			if err != nil {
				return usagef("--min-interval: %w", err)
			}
			s.MinInterval = d
		}
	}
	if to.user != "" || to.password != "" {
		s.User, s.Password = to.user, to.password
	}
	if o.user != nil {
		s.User = *o.user
		if s.User == "" {
			s.Password = ""
		}
	}
	if password != nil {
		s.Password = *password
	}
	if o.insecure != nil {
		s.Insecure = *o.insecure
	}
	return errors.Join(o.applyNames(s), o.applyHeaders(s))
}

func (o setOptions) applyNames(s *store.FeedSettings) error {
	if o.userAgent != nil {
		if *o.userAgent != "" {
			var checked settings
			if err := agent(&checked, *o.userAgent); err != nil {
				return usagef("--user-agent: %w", err)
			}
		}
		s.UserAgent = *o.userAgent
	}
	if o.proxy != nil {
		if *o.proxy != "" {
			if _, err := parseProxy(*o.proxy); err != nil {
				return usagef("--proxy: %w", err)
			}
		}
		s.Proxy = *o.proxy
	}
	return nil
}

// applyHeaders adds and takes back headers. Those that a fetch sets by itself, or that would break it, are refused.
func (o setOptions) applyHeaders(s *store.FeedSettings) error {
	if len(o.header) == 0 {
		return nil
	}
	header := maps.Clone(s.Header)
	if header == nil {
		header = map[string]string{}
	}
	for _, line := range o.header {
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return usagef("--header: not of the form NAME: VALUE")
		}
		if instead, ours := ownHeaders()[strings.ToLower(name)]; ours {
			return &usageError{fmt.Errorf("--header: %s is not for you to set", name), instead}
		}
		for known := range header {
			if strings.EqualFold(known, name) {
				delete(header, known)
			}
		}
		if value != "" {
			header[name] = value
		}
	}
	s.Header = header
	return nil
}

// ownHeaders are headers that only the fetch itself sets, with what to use instead.
func ownHeaders() map[string]string {
	const none = "the fetch sets it by itself"
	return map[string]string{
		"user-agent":        "use --user-agent",
		"authorization":     "use --user and --password-file",
		"host":              none,
		"connection":        none,
		"content-length":    none,
		"transfer-encoding": none,
		"accept-encoding":   none,
		"if-none-match":     none,
		"if-modified-since": none,
		"range":             none,
	}
}

// password reads the password of a given user: from the file that was named, else by a prompt. It is nil where none is wanted.
func (a *app) password(ctx context.Context, o setOptions, to address) (*string, error) {
	if o.passwordFile != nil {
		return a.passwordFromFile(*o.passwordFile)
	}
	if o.user == nil || *o.user == "" || to.password != "" {
		return nil, nil
	}
	stdin, isFile := a.stdin.(*os.File)
	if !isFile || !a.isTerminal(a.stdin) {
		return nil, &usageError{errors.New("--user: a password is needed, and there is no terminal to ask on"), "--password-file names a file that holds it, - standard input"}
	}
	fmt.Fprintf(a.stderr, "password of %s: ", clean(*o.user))
	defer fmt.Fprintln(a.stderr)
	before, err := term.GetState(int(stdin.Fd()))
	if err != nil {
		return nil, fmt.Errorf("ask for the password: %w", err)
	}
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(int(stdin.Fd()))
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		_ = term.Restore(int(stdin.Fd()), before) // the terminal echoes again
		return nil, context.Cause(ctx)
	case got := <-answers:
		if got.err != nil {
			return nil, fmt.Errorf("ask for the password: %w", got.err)
		}
		text := string(got.text)
		return &text, nil
	}
}

func (a *app) passwordFromFile(path string) (*string, error) {
	from := a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, &usageError{err: fmt.Errorf("--password-file: %w", err)}
		}
		defer f.Close()
		from = f
	}
	line, err := bufio.NewReader(io.LimitReader(from, longestPassword)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return nil, usagef("--password-file: its first line is empty")
	}
	return &line, nil
}
