package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"crawl/crawl"
)

func newHalfCheck(p program) *cobra.Command {
	var o crawl.HalfCheckOptions
	c := &cobra.Command{
		Use:   "half-check",
		Short: "half an hour later: finish what the run did not",
		Args:  takes(0, 0, ""),
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runHalfCheck(ctx, a, o) }),
	}
	c.Flags().BoolVar(&o.FailIfRunning, "fail-if-running", false, "exit with 6 if another process works on this hour")
	addSettings(c.Flags(), forFetch|forInvoked)
	return c
}

func runHalfCheck(ctx context.Context, a *app, o crawl.HalfCheckOptions) error {
	o.Deadline = a.deadline
	return a.invoke(o.FailIfRunning, func(cfg crawl.Config) (crawl.Summary, error) {
		return crawl.HalfCheck(ctx, cfg, o)
	})
}
