package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

type listOptions struct {
	category         string
	stopped, failing bool
}

func newList(p program) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "the feeds, with state, last success, failures and reason",
		Args:  cobra.NoArgs,
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runList(ctx, a, o) }),
	}
	c.Flags().StringVar(&o.category, "category", "", "only this category")
	c.Flags().BoolVar(&o.stopped, "stopped", false, "only stopped feeds")
	c.Flags().BoolVar(&o.failing, "failing", false, "only feeds that fail but are not stopped yet")
	c.MarkFlagsMutuallyExclusive("stopped", "failing")
	return c
}

func runList(ctx context.Context, a *app, o listOptions) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		if o.category != "" {
			if _, err := s.FindCategory(ctx, o.category); err != nil {
				return err
			}
		}
		feeds, err := s.Feeds(ctx, store.Filter{Category: o.category, Stopped: o.stopped, Failing: o.failing})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(listed(feeds))
		}
		return feedTable(feeds, a.now(), func(url string) string { return url }).print(a.program)
	})
}

// listedFeed is one feed of `list --json`.
type listedFeed struct {
	ID                  int64   `json:"id"`
	URL                 string  `json:"url"`
	Title               *string `json:"title"`
	Category            string  `json:"category"`
	Status              string  `json:"status"`
	ConsecutiveFailures int     `json:"consecutive_failures"`
	LastError           *string `json:"last_error"`
	LastErrorKind       *string `json:"last_error_kind"`
	StoppedReason       *string `json:"stopped_reason"`
	LastFetchedAt       *string `json:"last_fetched_at"`
	LastSuccessAt       *string `json:"last_success_at"`
	NextFetchAt         *string `json:"next_fetch_at"`
	Items               int     `json:"items"`
}

func listed(feeds []store.Feed) []listedFeed {
	list := []listedFeed{}
	for _, f := range feeds {
		list = append(list, listedFeed{
			ID:                  f.ID,
			URL:                 f.URL,
			Title:               nullText(f.Title),
			Category:            f.Category,
			Status:              f.Status,
			ConsecutiveFailures: f.ConsecutiveFailures,
			LastError:           nullText(f.LastError),
			LastErrorKind:       nullText(f.LastErrorKind),
			StoppedReason:       nullText(f.StoppedReason),
			LastFetchedAt:       nullTime(f.LastFetchedAt),
			LastSuccessAt:       nullTime(f.LastSuccessAt),
			NextFetchAt:         nullTime(f.NextFetchAt),
			Items:               f.Items,
		})
	}
	return list
}

// feedTable shows feeds, with what show makes of each URL: whole where a person asks for the list, cut down to the host elsewhere.
func feedTable(feeds []store.Feed, now time.Time, show func(url string) string) *table {
	t := newTable("ID", "CATEGORY", "STATE", "FAILURES", "LAST SUCCESS", "ITEMS", "URL", "REASON")
	t.whole = true // the reason comes last, and is why one looks
	for _, f := range feeds {
		t.add(fmt.Sprint(f.ID), f.Category, feedState(f), fmt.Sprint(f.ConsecutiveFailures), ago(f.LastSuccessAt, now),
			fmt.Sprint(f.Items), show(f.URL), dash(feedReason(f)))
	}
	return t
}

// feedState is a feed's state in one word.
func feedState(f store.Feed) string {
	switch {
	case f.Status != "active":
		return f.Status
	case f.ConsecutiveFailures > 0:
		return "failing"
	case f.LastFetchedAt.IsZero():
		return "new"
	}
	return "active"
}

// feedReason is why a feed is as it is: why it was stopped, what failed last, or what was wrong with its last document.
func feedReason(f store.Feed) string {
	reason := f.StoppedReason
	if reason == "" && f.LastError != "" {
		reason = f.LastErrorKind + ": " + f.LastError
	}
	if reason == "" && f.LastWarning != "" {
		reason = "warning: " + f.LastWarning
	}
	return reason
}

// ago is how long ago something was, in words for a table.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < 0:
		return stamp(t)
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}
