package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

type stopOptions struct{ reason string }

func newStop(p program) *cobra.Command {
	var o stopOptions
	c := &cobra.Command{
		Use:   "stop FEED…",
		Short: "stop feeds by hand, until crawl resume",
		Args:  takes(1, -1, "FEED"),
		RunE:  p.with(func(ctx context.Context, a *app, args []string) error { return runStop(ctx, a, args, o) }),
	}
	c.Flags().StringVar(&o.reason, "reason", "by hand", "why: `TEXT` for crawl list")
	return c
}

func runStop(ctx context.Context, a *app, refs []string, o stopOptions) error {
	reason := clean(o.reason)
	if reason == "" {
		return usagef("--reason: a reason is needed")
	}
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		feeds, err := find(ctx, s, refs)
		if err != nil {
			return err
		}
		if err := s.Stop(ctx, ids(feeds), reason, a.now()); err != nil {
			return err
		}
		n := 0
		for _, f := range feeds {
			if f.Status == "active" {
				n++
				continue
			}
			a.log.Info("feed is stopped already and keeps its reason", "feed", f.ID, "reason", f.StoppedReason)
			a.sayUnlessLogged(feedName(f) + " is stopped already: " + f.StoppedReason)
		}
		a.say("%s stopped", store.Count(n, "feed"))
		return nil
	})
}
