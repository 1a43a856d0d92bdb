package cmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"crawl/crawl"
)

func newAdd(p program) *cobra.Command {
	var o crawl.AddOptions
	c := &cobra.Command{
		Use:   "add URL…",
		Short: "find the feed of an address, fetch it once, and store it",
		Args:  cobra.MinimumNArgs(1),
		RunE:  p.with(func(ctx context.Context, a *app, args []string) error { return runAdd(ctx, a, args, o) }),
	}
	c.Flags().StringVar(&o.Category, "category", "", "its category (default Uncategorized)")
	c.Flags().StringVar(&o.Title, "title", "", "its title, instead of its own")
	c.Flags().BoolVar(&o.NoFetch, "no-fetch", false, "store the address as it is; the next run fetches it")
	addSettings(c.Flags(), forFetch)
	return c
}

// addedFeed is one address of `add --json`.
type addedFeed struct {
	ID         *int64           `json:"id"`
	URL        *string          `json:"url"`
	Found      *string          `json:"found"` // link, rule, path; null: the address itself is the feed
	Title      *string          `json:"title"`
	Category   *string          `json:"category"`
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

func runAdd(ctx context.Context, a *app, addresses []string, o crawl.AddOptions) error {
	o.Category, o.Title = clean(o.Category), clean(o.Title)
	results := []addedFeed{}
	var worst error
	for _, address := range addresses {
		r, err := crawl.Add(ctx, a.crawlConfig(), address, o)
		if err != nil && isOurs(err) {
			return err
		}
		results = append(results, addedAs(r, err))
		worst = worse(worst, a.tellAdded(address, r, err))
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	}
	return worst
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
func (a *app) tellAdded(address string, r crawl.AddResult, err error) error {
	switch {
	case err != nil:
		a.complain(fmt.Errorf("add %s: %w", addressName(address), err))
		return errSaid
	case len(r.Candidates) > 0:
		a.complain(&usageError{
			fmt.Errorf("add %s: it names %s", addressName(address), count(len(r.Candidates), "feed")),
			"choose one of these, and add that",
		})
		if a.json {
			return errChoose
		}
		if err := a.listCandidates(r.Candidates); err != nil {
			return err
		}
		return errChoose
	case a.json:
		return nil
	}
	text := fmt.Sprintf("feed %d", r.ID)
	if r.Title != "" {
		text += fmt.Sprintf(" %q", r.Title)
	}
	if r.Found != "" {
		text += fmt.Sprintf(" at %s (by %s)", r.URL, r.Found)
	}
	switch {
	case r.Already:
		return a.tell("already there: %s in %s", text, r.Category)
	case r.Found != "":
		return a.tell("added: %s in %s, %s", text, r.Category, count(r.Items, "item"))
	}
	a.say("added: %s in %s, %s", text, r.Category, count(r.Items, "item"))
	return nil
}

func (a *app) listCandidates(candidates []crawl.Candidate) error {
	t := newTable("URL", "TYPE", "TITLE")
	for _, c := range candidates {
		t.add(c.URL, dash(c.Type), dash(c.Title))
	}
	return t.print(a.program)
}

func addedAs(r crawl.AddResult, err error) addedFeed {
	f := addedFeed{
		URL: nullText(r.URL), Found: nullText(r.Found), Title: nullText(r.Title), Category: nullText(r.Category),
		Already: r.Already, Items: r.Items, Candidates: []foundCandidate{},
	}
	if r.ID != 0 {
		f.ID = &r.ID
	}
	if err != nil {
		f.Error = nullText(err.Error())
	}
	for _, c := range r.Candidates {
		f.Candidates = append(f.Candidates, foundCandidate{c.URL, nullText(c.Title), nullText(c.Type)})
	}
	return f
}
