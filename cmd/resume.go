package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

type resumeOptions struct {
	category *string // nil: not given
	url      string
	all      bool
}

func newResume(p program) *cobra.Command {
	var o resumeOptions
	c := &cobra.Command{
		Use:   "resume FEED… | --category NAME | --all",
		Short: "end \"stopped\": the feeds are due at once",
	}
	c.Flags().String("category", "", "the stopped feeds of the category `NAME`")
	c.Flags().BoolVar(&o.all, "all", false, "all stopped feeds")
	c.Flags().StringVar(&o.url, "url", "", "the feed's right address is `URL`")
	addSettings(c.Flags(), forFetch)
	showOnly(c.Flags(), "allow-net")
	c.RunE = p.with(func(ctx context.Context, a *app, args []string) error {
		o.category = givenText(c, "category")
		return runResume(ctx, a, args, o)
	})
	return c
}

func runResume(ctx context.Context, a *app, refs []string, o resumeOptions) error {
	ways := 0
	for _, given := range []bool{len(refs) > 0, o.category != nil, o.all} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return &usageError{errors.New("name feeds, or --category, or --all"), "crawl list --stopped shows the stopped feeds and why"}
	}
	if o.url != "" && len(refs) != 1 {
		return usagef("--url is for one feed")
	}
	address, err := a.address(o.url)
	if err != nil {
		return &usageError{fmt.Errorf("--url: %w", err), hint(err)}
	}
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		feeds, err := toResume(ctx, s, refs, o)
		if err != nil {
			return err
		}
		if o.url != "" {
			keep := func(f *store.FeedSettings) error { address.keepCredentials(f); return nil }
			err = s.EditFeed(ctx, feeds[0].ID, store.FeedEdit{URL: &address.url, Settings: keep, Resume: true})
		} else {
			err = s.Resume(ctx, ids(feeds))
		}
		if err != nil {
			return err
		}
		n := 0
		for _, f := range feeds {
			if f.Status == "active" {
				a.log.Info("feed is not stopped", "feed", f.ID)
				a.sayUnlessLogged(feedName(f) + " is not stopped")
			} else {
				n++
			}
		}
		a.say("%s resumed", store.Count(n, "feed"))
		return nil
	})
}

func toResume(ctx context.Context, s *store.Store, refs []string, o resumeOptions) ([]store.Feed, error) {
	if len(refs) > 0 {
		return find(ctx, s, refs)
	}
	filter := store.Filter{Stopped: true}
	if o.category != nil {
		if _, err := s.FindCategory(ctx, *o.category); err != nil {
			return nil, err
		}
		filter.Category = *o.category
	}
	return s.Feeds(ctx, filter)
}
