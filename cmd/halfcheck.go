package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"crawl/crawl"
)

type halfCheckOptions struct{ failIfRunning bool }

func newHalfCheck(p program) *cobra.Command {
	var o halfCheckOptions
	c := &cobra.Command{
		Use:   "half-check",
		Short: "half an hour later: finish what the run did not",
		Args:  takes(0, 0, ""),
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runHalfCheck(ctx, a, o) }),
	}
	c.Flags().BoolVar(&o.failIfRunning, "fail-if-running", false, "exit with 6 if another process works on this hour")
	addSettings(c.Flags(), forFetch|forInvoked)
	return c
}

func runHalfCheck(ctx context.Context, a *app, o halfCheckOptions) error {
	return a.invoke(o.failIfRunning, func(cfg crawl.Config) (crawl.Summary, error) {
		return crawl.HalfCheck(ctx, cfg, crawl.RunOptions{MaxFeeds: a.maxFeeds, Deadline: a.deadline})
	})
}
