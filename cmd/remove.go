package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

type removeOptions struct{ yes bool }

func newRemove(p program) *cobra.Command {
	var o removeOptions
	c := &cobra.Command{
		Use:   "remove FEED…",
		Short: "remove feeds with all their items",
		Args:  takes(1, -1, "FEED"),
		RunE:  p.with(func(ctx context.Context, a *app, args []string) error { return runRemove(ctx, a, args, o) }),
	}
	c.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return c
}

func runRemove(ctx context.Context, a *app, refs []string, o removeOptions) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		feeds, err := find(ctx, s, refs)
		if err != nil {
			return err
		}
		items := 0
		for _, f := range feeds {
			items += f.Items
		}
		what := count(len(feeds), "feed") + " with " + count(items, "item")
		if len(feeds) == 1 {
			what = feedName(feeds[0]) + " with " + count(items, "item")
		}
		if err := a.confirm(ctx, "remove "+what, o.yes); err != nil {
			return err
		}
		return s.Remove(ctx, ids(feeds), a.now())
	})
}

// confirm asks before something that cannot be undone. Without a terminal only --yes is consent.
func (a *app) confirm(ctx context.Context, what string, yes bool) error {
	if yes {
		return nil
	}
	if !a.isTerminal(a.stdin) || !a.isTerminal(a.stderr) {
		return &usageError{fmt.Errorf("%s: not without consent", clean(what)), "there is no terminal to ask on; --yes says so beforehand"}
	}
	fmt.Fprintf(a.stderr, "%s? [y/N] ", clean(what))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line := <-answer:
		if !slices.Contains([]string{"y", "yes"}, line) {
			return errors.New("nothing was changed")
		}
		return nil
	}
}
