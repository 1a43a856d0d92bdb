package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

type listOptions struct {
	category         *string // nil: not given
	stopped, failing bool
}

func newList(p program) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "the feeds, with state, last success, failures and reason",
		Args:  takes(0, 0, ""),
	}
	c.Flags().String("category", "", "only the category `NAME`")
	c.Flags().BoolVar(&o.stopped, "stopped", false, "only stopped feeds")
	c.Flags().BoolVar(&o.failing, "failing", false, "only feeds that fail but are not stopped yet")
	c.RunE = p.with(func(ctx context.Context, a *app, _ []string) error {
		if err := exclusive(c, "stopped", "failing"); err != nil {
			return err
		}
		o.category = givenText(c, "category")
		return runList(ctx, a, o)
	})
	return c
}

func runList(ctx context.Context, a *app, o listOptions) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		filter := store.Filter{Stopped: o.stopped, Failing: o.failing}
		if o.category != nil {
			if _, err := s.FindCategory(ctx, *o.category); err != nil {
				return err
			}
			filter.Category = *o.category
		}
		feeds, err := s.Feeds(ctx, filter)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(listed(feeds))
		}
		width := a.width()
		return listTable(feeds, a.now(), width == 0 || width >= wideList).print(a.program)
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

// wideList is how many columns a terminal must have to see also when feeds are fetched next.
const wideList = 140

// listTable shows feeds whole, for who asks for the list.
func listTable(feeds []store.Feed, now time.Time, wide bool) *table {
	t := newTable("ID", "CATEGORY", "STATE", "FAILURES", "LAST SUCCESS", "ITEMS")
	if wide {
		t.rows[0] = append(t.rows[0], "NEXT FETCH")
	}
	t.rows[0] = append(t.rows[0], "TITLE", "URL", "REASON")
	t.whole = true // the reason comes last, and is why one looks
	for _, f := range feeds {
		row := feedCells(f, now)
		if wide {
			row = append(row, nextFetch(f, now))
		}
		t.add(append(row, dash(narrow(f.Title)), f.URL, dash(feedReason(f)))...)
	}
	return t
}

// troubledTable shows feeds where nobody asked for their addresses: of those only the host.
func troubledTable(feeds []store.Feed, now time.Time) *table {
	t := newTable("ID", "CATEGORY", "STATE", "FAILURES", "LAST SUCCESS", "ITEMS", "URL", "REASON")
	t.whole = true
	for _, f := range feeds {
		t.add(append(feedCells(f, now), fetch.Redact(f.URL), dash(feedReason(f)))...)
	}
	return t
}

func feedCells(f store.Feed, now time.Time) []string {
	return []string{fmt.Sprint(f.ID), f.Category, feedState(f), fmt.Sprint(f.ConsecutiveFailures), ago(f.LastSuccessAt, now),
		fmt.Sprint(f.Items)}
}

// nextFetch is in how long a feed is due.
func nextFetch(f store.Feed, now time.Time) string {
	switch left := f.NextFetchAt.Sub(now); {
	case f.Status != "active":
		return "-"
	case f.NextFetchAt.IsZero(), left <= 0:
		return "due"
	case left < time.Hour:
		return fmt.Sprintf("in %dm", int(left.Minutes())+1)
	default:
		return fmt.Sprintf("in %dh", int(left.Round(time.Hour).Hours()))
	}
}

// feedState is a feed's state in one word.
func feedState(f store.Feed) string {
	switch {
	case f.Status != "active":
		return f.Status
	case f.ConsecutiveFailures > 0:
		return "failing"
	case !f.RetryAfterUntil.IsZero():
		return "throttled"
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
