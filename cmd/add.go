package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/store"
)

func newAdd(p program) *cobra.Command {
	var o crawl.AddOptions
	c := &cobra.Command{
		Use:   "add URL…",
		Short: "find the feed of an address, fetch it once, and store it",
		Long: `add asks the address itself, then the feeds that its page names, then the common paths, and stores the feed that it finds with
its items. Of several it lists the addresses, and stores nothing.

For a site that wants a user and password: https://user:password@host/..., or, if the password shall not stand on the command line,
add --no-fetch, then set ID --user U --password-file F.`,
		Args: takes(1, -1, "URL"),
		RunE: p.with(func(ctx context.Context, a *app, args []string) error { return runAdd(ctx, a, args, o) }),
	}
	c.Flags().StringVar(&o.Category, "category", "", "into the category `NAME` (default Uncategorized)")
	c.Flags().StringVar(&o.Title, "title", "", "its title is this `TEXT`, instead of its own")
	c.Flags().BoolVar(&o.NoFetch, "no-fetch", false, "store the address as it is; the next run fetches it")
	addSettings(c.Flags(), forFetch)
	showOnly(c.Flags(), "timeout", "connect-timeout", "max-body", "allow-net", "user-agent", "proxy", "min-interval", "max-interval")
	return c
}

// addedFeed is one address of `add --json`.
type addedFeed struct {
	Asked      string           `json:"asked"` // as it was typed, without user and password
	ID         *int64           `json:"id"`
	URL        *string          `json:"url"`
	Found      *string          `json:"found"` // link, rule, refresh, path; null: the address itself is the feed
	Title      *string          `json:"title"`
	Category   *string          `json:"category"`
	Status     *string          `json:"status"`
	Already    bool             `json:"already"`
	Items      int              `json:"items"`
	Candidates []foundCandidate `json:"candidates"`
	Error      *string          `json:"error"`
}

// foundCandidate is one of several feeds that a page names.
type foundCandidate struct {
	URL   string  `json:"url"`
	Title *string `json:"title"`
	Type  *string `json:"type"`
}

// adding is what became of one address.
type adding struct {
	name     string // of the address, for messages
	category string // that was asked for, "" if none was
	crawl.AddResult
	err error
}

func runAdd(ctx context.Context, a *app, addresses []string, o crawl.AddOptions) error {
	o.Category, o.Title = clean(o.Category), clean(o.Title)
	if o.Title != "" && len(addresses) > 1 {
		return usagef("--title is for one feed")
	}
	results := []addedFeed{}
	var worst error
	for i, address := range addresses {
		one := adding{name: addressName(address), category: o.Category}
		if len(addresses) > 1 {
			one.name = fmt.Sprintf("argument %d (%s)", i+1, one.name)
		}
		one.AddResult, one.err = crawl.Add(ctx, a.crawlConfig(), address, o)
		one.err = hintAtScheme(one.err, address)
		if one.err != nil && isOurs(one.err) {
			return one.err
		}
		results = append(results, addedAs(typedWithout(address), one))
		worst = worse(worst, a.tellAdded(one, withoutName(one.err, addressName(address))))
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	}
	return worst
}

// withoutName is an error whose text does not name the address, which the message has done already.
func withoutName(err error, name string) error {
	if err == nil {
		return nil
	}
	text := strings.Replace(strings.TrimPrefix(err.Error(), name+": "), " at "+name+": ", ": ", 1)
	return &hintedError{errors.New(text), hint(err)}
}

// isOurs tells an error that ends the command from one that is about the address.
func isOurs(err error) bool {
	code := exitCode(err)
	return code == exitDatabase || code == exitStopped
}

// worse keeps the error with the higher exit code.
func worse(a, b error) error {
	if exitCode(b) > exitCode(a) {
		return b
	}
	return a
}

// tellAdded says what became of an address. The error is for the exit code only: it has been said.
func (a *app) tellAdded(one adding, err error) error {
	switch {
	case err != nil:
		a.complain(fmt.Errorf("add %s: %w", one.name, err))
		return errSaid
	case len(one.Candidates) > 0:
		who := "it"
		if one.Found == "refresh" {
			who = "the page that it leads to"
		}
		a.complain(&usageError{
			fmt.Errorf("add %s: %s names %s", one.name, who, store.Count(len(one.Candidates), "feed")),
			"choose one of these, and add that",
		})
		if a.json {
			return errChoose
		}
		if err := a.listCandidates(one.Candidates); err != nil {
			return err
		}
		return errChoose
	case a.json || a.quiet:
		return nil
	}
	text := fmt.Sprintf("feed %d", one.ID)
	if one.Title != "" {
		text += fmt.Sprintf(" %q", one.Title)
	}
	if one.Found != "" {
		text += fmt.Sprintf(" at %s (by %s)", one.URL, one.Found)
	}
	switch {
	case one.Stopped != "":
		return a.tell("already there, but stopped (%s): %s in %s; crawl resume %d starts it again", one.Stopped, text, one.Category, one.ID)
	case one.Already && one.category != "" && one.category != one.Category:
		return a.tell("already there: %s in %s; crawl set %d --category %s moves it", text, one.Category, one.ID, shellWord(one.category))
	case one.Already:
		return a.tell("already there: %s in %s", text, one.Category)
	case one.Found != "":
		return a.tell("added: %s in %s, %s", text, one.Category, store.Count(one.Items, "item"))
	}
	a.say("added: %s in %s, %s", text, one.Category, store.Count(one.Items, "item"))
	return nil
}

func (a *app) listCandidates(candidates []crawl.Candidate) error {
	t := newTable("URL", "TYPE", "TITLE")
	for _, c := range candidates {
		t.add(c.URL, dash(c.Type), dash(c.Title))
	}
	return t.print(a.program)
}

func addedAs(asked string, r adding) addedFeed {
	f := addedFeed{
		Asked: asked, URL: nullText(r.URL), Found: nullText(r.Found), Title: nullText(r.Title), Category: nullText(r.Category),
		Already: r.Already, Items: r.Items, Candidates: []foundCandidate{},
	}
	if r.ID != 0 {
		f.ID, f.Status = &r.ID, nullText("active")
	}
	if r.Stopped != "" {
		f.Status = nullText("stopped")
	}
	if r.err != nil {
		f.Error = nullText(r.err.Error())
	}
	for _, c := range r.Candidates {
		f.Candidates = append(f.Candidates, foundCandidate{c.URL, nullText(c.Title), nullText(c.Type)})
	}
	return f
}
