package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

type importOptions struct {
	prune, dryRun, yes bool
}

func newImport(p program) *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "add the feeds of an OPML file; its folders are categories",
		Long: `import adds the feeds of an OPML file, - for standard input. Folders are categories, nested ones joined with " / ". Good lines
are imported even if others are not; each refused one is named, and the exit code is 1 then. So it is for a file that is damaged or cut
off: what stands before the damage is imported, unless --prune is given. A file without any feed is no error, but said. Importing twice
changes nothing.`,
		Args: takes(1, 1, "FILE"),
		RunE: p.with(func(ctx context.Context, a *app, args []string) error { return runImport(ctx, a, args[0], o) }),
	}
	c.Flags().BoolVar(&o.prune, "prune", false, "remove feeds that are not in the file")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what would be done; change nothing")
	c.Flags().BoolVar(&o.yes, "yes", false, "let --prune remove more than a tenth of the feeds")
	addSettings(c.Flags(), forFetch)
	showOnly(c.Flags(), "allow-net")
	return c
}

// imported is what `import --json` prints.
type imported struct {
	Added   int           `json:"added"`
	Present int           `json:"present"`
	Refused []refusedLine `json:"refused"`
	Removed int           `json:"removed"`
	DryRun  bool          `json:"dry_run"`
	Damage  *string       `json:"damage"` // what kept the rest of the file from being read
}

// refusedLine is a line that was not imported.
type refusedLine struct {
	Line   int    `json:"line"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
}

func runImport(ctx context.Context, a *app, path string, o importOptions) error {
	name := path
	if path == "-" {
		name = "standard input"
	}
	outlines, damage, err := a.readOutlines(path, name)
	if err != nil {
		return err
	}
	if damage != nil && (o.prune || len(outlines) == 0) {
		return &hintedError{damage, "nothing was imported"}
	}
	feeds, refused, err := a.judge(name, outlines)
	if err != nil {
		return err
	}
	for _, r := range refused {
		a.fault("%s: line %d: %s%s", name, r.Line, quoted(r.Title), r.Reason)
	}
	done := imported{Refused: append([]refusedLine{}, refused...), DryRun: o.dryRun, Damage: nullError(damage)}
	var unpruned error // which leaves what was added
	add, open := done.apply, a.openOrCreate
	if o.dryRun {
		add, open = done.foresee, a.open
	}
	err = open(ctx, func(_ *state.Dir, s *store.Store) error {
		kept, err := add(ctx, a, s, feeds)
		if err == nil && o.prune {
			unpruned = done.prune(ctx, a, s, kept, o)
		}
		return err
	})
	if o.dryRun && crawl.NothingYet(err) {
		done.Added, err = len(feeds), nil
	}
	switch {
	case err != nil:
		return err
	case unpruned != nil:
		err = unpruned
	case damage != nil:
		err = &hintedError{damage, "what stands before that was read: " + store.Count(len(outlines), "line")}
	case len(refused) > 0:
		err = errSaid
	case len(outlines) == 0:
		a.note("%s holds no feed", name)
	}
	return errors.Join(err, done.tell(a))
}

// readOutlines reads an OPML file. damage is what keeps the rest of it from being read.
func (a *app) readOutlines(path, name string) (outlines []outline, damage, err error) {
	var from io.Reader = a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, unreadable(err)
		}
		defer f.Close()
		from = f
	}
	outlines, err = readOPML(from)
	var unread *fs.PathError // a directory, say; it has the name
	switch {
	case err == nil:
		return outlines, nil, nil
	case errors.As(err, &unread):
		return nil, nil, unreadable(err)
	}
	err = fmt.Errorf("%s: %w", name, err)
	if errors.Is(err, errNotXML) {
		return outlines, err, nil
	}
	return nil, nil, &hintedError{err, "nothing was imported"}
}

// quoted is a title before a message, nothing for none.
func quoted(title string) string {
	if title == "" {
		return ""
	}
	return fmt.Sprintf("%q: ", title)
}

func nullError(err error) *string {
	if err == nil {
		return nil
	}
	return nullText(err.Error())
}

// judge sorts the lines into feeds and refused ones. A feed that comes twice counts where it comes first.
func (a *app) judge(name string, outlines []outline) (feeds []store.NewFeed, refused []refusedLine, err error) {
	client, err := a.client()
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	first := map[string]outline{}
	for _, o := range outlines {
		to, err := checkOutline(client, o)
		if err != nil {
			refused = append(refused, refusedLine{o.line, o.title, reasonOf(err)})
			continue
		}
		if earlier, twice := first[to.url]; twice {
			a.noteRepeated(name, o, earlier)
			continue
		}
		first[to.url] = o
		feeds = append(feeds, store.NewFeed{
			URL:      to.url,
			Title:    titleOf(o),
			SiteURL:  webAddress(o.siteURL),
			Category: o.category,
			Settings: store.FeedSettings{User: to.user, Password: to.password},
		})
	}
	return feeds, refused, nil
}

func checkOutline(client *fetch.Client, o outline) (address, error) {
	if o.url == "" {
		return address{}, errors.New("no xmlUrl")
	}
	return checkAddress(client, o.url)
}

// reasonOf is why an address was refused, with what would change that.
func reasonOf(err error) string {
	if h := hint(err); h != "" {
		return crawl.ErrorLine(err) + "; " + h
	}
	return crawl.ErrorLine(err)
}

// noteRepeated says that a line repeats an earlier one, if that could surprise: in another folder.
func (a *app) noteRepeated(name string, o, earlier outline) {
	if o.category != earlier.category {
		a.note("%s: line %d: %sit is also in line %d, and goes into %q, the first", name, o.line, quoted(o.title), earlier.line, store.CategoryName(earlier.category))
	}
}

// titleOf is the line's title, "" where that is only the address again.
func titleOf(o outline) string {
	if o.title == o.url {
		return ""
	}
	return o.title
}

// webAddress is the address of a site if it is one, else "".
func webAddress(raw string) string {
	if raw == "" {
		return ""
	}
	clean, _, _, err := fetch.Normalize(raw)
	if err != nil {
		return ""
	}
	return clean
}

// apply adds the feeds in one transaction, and lists those of the file that are there now.
func (i *imported) apply(ctx context.Context, a *app, s *store.Store, feeds []store.NewFeed) (kept map[int64]bool, err error) {
	added, err := s.AddFeeds(ctx, feeds, a.now())
	if err != nil {
		return nil, err
	}
	kept = map[int64]bool{}
	for n, f := range added {
		kept[f.ID] = true
		if f.New {
			i.Added++
			continue
		}
		i.Present++
		if want := store.CategoryName(feeds[n].Category); want != f.Category {
			a.log.Info("feed stays in its category", "feed", f.ID, "category", f.Category, "file", want)
		}
	}
	return kept, nil
}

// foresee counts what apply would do, and changes nothing.
func (i *imported) foresee(ctx context.Context, _ *app, s *store.Store, feeds []store.NewFeed) (kept map[int64]bool, err error) {
	urls := make([]string, len(feeds))
	for k, f := range feeds {
		urls[k] = f.URL
	}
	ids, err := s.Known(ctx, urls)
	if err != nil {
		return nil, err
	}
	kept = map[int64]bool{}
	for _, id := range ids {
		if id == 0 {
			i.Added++
			continue
		}
		i.Present++
		kept[id] = true
	}
	return kept, nil
}

// tell says what was done, or would be: to a terminal, to a program, and in answer to --dry-run.
func (i imported) tell(a *app) error {
	if a.json {
		return a.printJSON(i)
	}
	text := fmt.Sprintf("%s added, %d already there, %d refused", store.Count(i.Added, "feed"), i.Present, len(i.Refused))
	if i.Removed > 0 {
		text += fmt.Sprintf(", %d removed", i.Removed)
	}
	if !i.DryRun {
		a.say("%s", text)
		return nil
	}
	return a.tell("nothing was changed; it would be: %s", text)
}
