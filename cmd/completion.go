package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"crawl/crawl"
	"crawl/store"
)

// What a shell offers at the Tab key: feeds and categories where they are meant, files where a file is, else nothing. Completion only
// reads, makes no database, and says nothing of what goes wrong.

type completer = cobra.CompletionFunc

// completions gives every argument and flag of a command, and of those below it, its completion.
func completions(p program, c *cobra.Command) {
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = p.argumentCompletion(c)
	}
	for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			if complete := p.flagCompletion(f); complete != nil {
				_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails for one that has its own
			}
		})
	}
	for _, sub := range c.Commands() {
		completions(p, sub)
	}
}

func (p program) argumentCompletion(c *cobra.Command) completer {
	name, arguments, _ := strings.Cut(c.Use, " ")
	switch {
	case name == "import", name == "check":
		return nil // files
	case strings.HasPrefix(arguments, "FEED"):
		return p.completeFeeds(store.Filter{Stopped: name == "resume"}, strings.HasPrefix(arguments, "FEED…"))
	case strings.HasPrefix(arguments, "NAME"), strings.HasPrefix(arguments, "OLD"):
		return p.completeCategories
	}
	return cobra.NoFileCompletions
}

func (p program) flagCompletion(f *pflag.Flag) completer {
	switch value, _ := pflag.UnquoteUsage(f); {
	case value == "FILE", value == "PATH", f.Value.Type() == "FILE", f.Value.Type() == "PATH":
		return nil // files
	case f.Name == "category":
		return p.completeCategories
	case f.Name == "feed":
		return p.completeFeeds(store.Filter{}, true)
	}
	return cobra.NoFileCompletions
}

// completeFeeds offers the ids of feeds, with their titles. Those that were given are not offered again; of one argument there is no
// second.
func (p program) completeFeeds(filter store.Filter, several bool) completer {
	return func(c *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var offered []cobra.Completion
		if len(given) == 0 || several {
			p.read(c, func(ctx context.Context, s *store.Store) {
				feeds, _ := s.Feeds(ctx, filter)
				for _, f := range feeds {
					if id := fmt.Sprint(f.ID); strings.HasPrefix(id, begun) && !slices.Contains(given, id) {
						offered = append(offered, cobra.CompletionWithDesc(id, narrow(f.Title)))
					}
				}
			})
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCategories offers the names of categories, as an argument only for the first one.
func (p program) completeCategories(c *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var offered []cobra.Completion
	if len(given) == 0 {
		p.read(c, func(ctx context.Context, s *store.Store) {
			categories, _ := s.Categories(ctx)
			for _, category := range categories {
				if strings.HasPrefix(category.Name, begun) {
					offered = append(offered, clean(category.Name))
				}
			}
		})
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}

// read opens the database in force if there is one of this version.
func (p program) read(c *cobra.Command, use func(ctx context.Context, s *store.Store)) {
	settings, _, err := loadSettings(c.Flags(), p.env, fileSource)
	if err != nil {
		return
	}
	cfg := (&app{program: p, settings: settings}).crawlConfig()
	if crawl.CheckPresent(cfg) != nil {
		return
	}
	s, err := store.Open(c.Context(), cfg.Database(), store.Options{})
	if err != nil {
		return
	}
	defer s.Close()
	use(c.Context(), s)
}

// completeCommands offers the commands that help explains.
func completeCommands(c *cobra.Command, given []string, begun string) (offered []cobra.Completion, _ cobra.ShellCompDirective) {
	within := c.Root()
	for _, name := range given {
		if within = subcommand(within, name); within == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, sub := range within.Commands() {
		if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
			offered = append(offered, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return offered, cobra.ShellCompDirectiveNoFileComp
}
