package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

func newCategory(p program) *cobra.Command {
	list := func(ctx context.Context, a *app, _ []string) error { return runCategoryList(ctx, a) }
	c := &cobra.Command{
		Use:   "category",
		Short: "list, rank, rename or remove categories",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains([]string{"add", "create", "new"}, args[0]) {
				return &usageError{fmt.Errorf("unknown category command %q", args[0]), makingCategory}
			}
			return takes(0, 0, "")(c, args)
		},
		RunE: p.with(list),
	}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "the categories, with their feeds", Args: takes(0, 0, ""), RunE: p.with(list)},
		newCategorySet(p),
		&cobra.Command{
			Use: "rename OLD NEW", Short: "give a category another name", Args: takes(2, 2, "OLD NEW"),
			RunE: p.with(func(ctx context.Context, a *app, args []string) error {
				return runCategoryRename(ctx, a, args[0], args[1])
			}),
		},
		&cobra.Command{
			Use: "remove NAME", SuggestFor: []string{"delete", "rm"}, Short: "remove an empty category", Args: takes(1, 1, "NAME"),
			RunE: p.with(func(ctx context.Context, a *app, args []string) error { return runCategoryRemove(ctx, a, args[0]) }),
		},
	)
	return c
}

// makingCategory is how a category comes to be.
const makingCategory = "crawl add or crawl set with --category NAME makes one, and so does a folder that crawl import reads; crawl category set NAME --ranked keeps the positions in one"

func newCategorySet(p program) *cobra.Command {
	var ranked bool
	c := &cobra.Command{
		Use:   "set NAME --ranked[=false]",
		Short: "keep the position of each item for each hour, or no longer; makes the category if there is none",
		Args:  takes(1, 1, "NAME"),
		RunE: p.with(func(ctx context.Context, a *app, args []string) error {
			return runCategorySet(ctx, a, args[0], ranked)
		}),
		PreRunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("ranked") {
				return &usageError{errors.New("category set: --ranked is missing, or --ranked=false"), makingCategory}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&ranked, "ranked", false, "the order of its feeds means something")
	return c
}

// listedCategory is one category of `category list --json`, and of status with Done.
type listedCategory struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Ranked  bool   `json:"ranked"`
	Feeds   int    `json:"feeds"`
	Active  int    `json:"active"`
	Failing int    `json:"failing"`
	Stopped int    `json:"stopped"`
}

func listedAs(c store.Category) listedCategory {
	return listedCategory{c.ID, c.Name, c.Ranked, c.Feeds, c.Active, c.Failing, c.Stopped}
}

func runCategoryList(ctx context.Context, a *app) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		categories, err := s.Categories(ctx)
		if err != nil {
			return err
		}
		list := []listedCategory{}
		t := newTable("CATEGORY", "FEEDS", "FAILING", "STOPPED", "RANKED")
		for _, c := range categories {
			list = append(list, listedAs(c))
			t.add(c.Name, fmt.Sprint(c.Feeds), fmt.Sprint(c.Failing), fmt.Sprint(c.Stopped), yesNo(c.Ranked))
		}
		if a.json {
			return a.printJSON(list)
		}
		return t.print(a.program)
	})
}

func runCategorySet(ctx context.Context, a *app, name string, ranked bool) error {
	name, err := categoryName(name)
	if err != nil {
		return err
	}
	return a.openOrCreate(ctx, func(_ *state.Dir, s *store.Store) error { return s.SetRanked(ctx, name, ranked) })
}

func runCategoryRename(ctx context.Context, a *app, old, name string) error {
	name, err := categoryName(name)
	if err != nil {
		return err
	}
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error { return s.RenameCategory(ctx, old, name) })
}

func runCategoryRemove(ctx context.Context, a *app, name string) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error { return s.RemoveCategory(ctx, name) })
}

// categoryName is a name as it is stored: one line without control characters.
func categoryName(name string) (string, error) {
	if name = clean(name); name == "" {
		return "", usagef("a category needs a name")
	}
	return name, nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
