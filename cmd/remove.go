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
		Use:        "remove FEED…",
		SuggestFor: []string{"delete", "rm"},
		Short:      "remove feeds with all their items",
		Args:       takes(1, -1, "FEED"),
		RunE:       p.with(func(ctx context.Context, a *app, args []string) error { return runRemove(ctx, a, args, o) }),
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
		what, each := toRemove(feeds)
		if err := a.confirm(ctx, "remove "+what, each, o.yes); err != nil {
			return err
		}
		if err := s.Remove(ctx, ids(feeds), a.now()); err != nil {
			return err
		}
		a.say("removed: %s", what)
		return nil
	})
}

// toRemove says what would go: one feed by its title, several as a sum and then each on a line of its own.
func toRemove(feeds []store.Feed) (what string, each []string) {
	items := 0
	for _, f := range feeds {
		items += f.Items
		each = append(each, titledName(f)+" with "+store.Count(f.Items, "item"))
	}
	if len(feeds) == 1 {
		return each[0], nil
	}
	return store.Count(len(feeds), "feed") + " with " + store.Count(items, "item"), each
}

// confirm asks before something that cannot be undone, of which each part has a line before the question. Without a terminal only
// --yes is consent.
func (a *app) confirm(ctx context.Context, what string, each []string, yes bool) error {
	if yes {
		return nil
	}
	for _, line := range each {
		fmt.Fprintln(a.stderr, clean(line))
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
