package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

func newExport(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "export",
		Short: "print the feeds as OPML",
		Long:  "export prints the feeds as OPML, their categories as folders. What OPML has no place for is not in it: whether a category is ranked, a\ncategory without feeds, and the settings and states of feeds.",
		Args:  takes(0, 0, ""),
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runExport(ctx, a) }),
	}
}

func runExport(ctx context.Context, a *app) error {
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		feeds, err := s.Feeds(ctx, store.Filter{})
		if err != nil {
			return err
		}
		return a.print(func(w io.Writer) error { return writeOPML(w, outlinesOf(feeds)) })
	})
}

// outlinesOf puts feeds into the form of an OPML file, without their passwords. The order is by category.
func outlinesOf(feeds []store.Feed) []outline {
	var outlines []outline
	for _, f := range feeds {
		o := outline{title: f.Title, url: f.URL, siteURL: f.SiteURL, category: f.Category}
		if o.category == store.Uncategorized {
			o.category = ""
		}
		outlines = append(outlines, o)
	}
	return outlines
}
