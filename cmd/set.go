package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"strings"

	"github.com/spf13/cobra"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

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
		Use:        "set FEED",
		SuggestFor: []string{"move"},
		Short:      "settings of one feed",
		Long: `set changes a feed's address, title, category or its own settings for fetching. An empty value takes a
setting back. A password is read from a file or asked for, never given as an argument, and never shown.`,
		Args: takes(1, 1, "FEED"),
	}
	f := c.Flags()
	f.String("url", "", "its address is this `URL`")
	f.String("title", "", "its title is this `TEXT`, instead of its own")
	f.String("category", "", "its category is `NAME`")
	f.String("min-interval", "", "`D` between two fetches, at least; 0 or empty: the general one")
	f.String("user", "", "`NAME` for HTTP authentication; empty: none")
	f.String("password-file", "", "the first line of `FILE` is the password; - is standard input")
	f.StringArray("header", nil, "send `NAME:VALUE` (repeatable); without a value: no longer")
	f.String("user-agent", "", "call ourselves `TEXT` to this site")
	f.String("proxy", "", "fetch through the proxy at `URL`")
	f.Bool("insecure", false, "do not verify this site's certificate")
	addSettings(f, forFetch, "min-interval", "user-agent", "proxy")
	showOnly(f, "allow-net")
	c.PreRunE = func(*cobra.Command, []string) error {
		if name := givenHidden(f); name != "" && name != "start-minute" { // a crontab may give that one everywhere
			return &usageError{fmt.Errorf("--%s is not a setting of one feed", name), "crawl run takes it for all feeds; " + variable(name) + " or the settings file keep it"}
		}
		return nil
	}
	c.RunE = p.with(func(ctx context.Context, a *app, args []string) error {
		return runSet(ctx, a, args[0], givenSetOptions(c))
	})
	return c
}

// givenSetOptions reads the flags that were given; those of their types cannot fail to be read.
func givenSetOptions(c *cobra.Command) setOptions {
	f := c.Flags()
	text := func(name string) *string { return givenText(c, name) }
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
	return o.url == nil && o.title == nil && o.category == nil && !o.settings()
}

// settings tells whether a flag for one of the feed's own settings was given.
func (o setOptions) settings() bool {
	for _, p := range []*string{o.minInterval, o.user, o.userAgent, o.proxy, o.passwordFile} {
		if p != nil {
			return true
		}
	}
	return len(o.header) > 0 || o.insecure != nil
}

func runSet(ctx context.Context, a *app, ref string, o setOptions) error {
	if o.empty() {
		return &usageError{errors.New("nothing to set"), "crawl set --help lists what there is"}
	}
	if o.user != nil && strings.Contains(*o.user, ":") {
		return usagef("--user: a name with a colon cannot be sent (RFC 7617)")
	}
	edit := store.FeedEdit{Title: cleaned(o.title), Category: cleaned(o.category)}
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
		feed, err := s.FindFeed(ctx, feedRef(ref))
		if err != nil {
			return err
		}
		if o.settings() || o.url != nil { // there may be a password in it
			edit.Settings = func(s *store.FeedSettings) error { return o.apply(s, to, password) }
		}
		if err := s.EditFeed(ctx, feed.ID, edit); err != nil {
			return err
		}
		a.say("set: feed %d", feed.ID)
		return nil
	})
}

// cleaned is clean for what may not have been given.
func cleaned(text *string) *string {
	if text == nil {
		return nil
	}
	clean := clean(*text)
	return &clean
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
			d, err := parseSpan(*o.minInterval, 0, longestInterval)
			if err != nil {
				return usagef("--min-interval: %w", err)
			}
			s.MinInterval = d
		}
	}
	to.keepCredentials(s)
	if o.user != nil {
		s.User = *o.user
		if s.User == "" {
			s.Password = ""
		}
	}
	if password != nil {
		if s.User == "" {
			return &usageError{errors.New("--password-file: there is no user whose password it could be"), "give --user too"}
		}
		s.Password = *password
	}
	if o.insecure != nil {
		s.Insecure = *o.insecure
	}
	return errors.Join(o.applyNames(s), o.applyHeaders(s))
}

func (o setOptions) applyNames(s *store.FeedSettings) error {
	if o.userAgent != nil {
		var checked settings
		if *o.userAgent != "" {
			if err := agent(&checked, *o.userAgent); err != nil {
				return usagef("--user-agent: %w", err)
			}
		}
		s.UserAgent = checked.fetch.UserAgent
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

// applyHeaders adds and takes back headers.
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
		name, value = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !found {
			return usagef("--header: not of the form NAME: VALUE")
		}
		if name == "User-Agent" {
			return &usageError{errors.New("--header: the user agent has a setting of its own"), "use --user-agent"}
		}
		if err := fetch.CheckHeader(name, value); err != nil {
			return usagef("--header: %w", err)
		}
		if value == "" {
			delete(header, name)
		} else {
			header[name] = value
		}
	}
	s.Header = header
	return nil
}
