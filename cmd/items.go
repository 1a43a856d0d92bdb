package cmd

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"crawl/state"
	"crawl/store"
)

type itemsOptions struct {
	after                     int64
	since                     string
	category                  *string // nil: not given
	feeds                     []string
	limit                     int
	byChange                  bool
	jsonLines, csv, atom, rss bool
}

func newItems(p program) *cobra.Command {
	var o itemsOptions
	c := &cobra.Command{
		Use:        "items",
		SuggestFor: []string{"search", "read"},
		Short:      "items, newest first; with --after, changes in order",
		Long: `items prints stored items, newest first. With --after SEQ it prints changes (new, updated, removed) in order of seq: a program that
remembers the last seq it handled, and asks for what came after it, never misses and never repeats a change.

A removal is known by the ids of its item and feed alone. With --after, --category lets the removals of all feeds that are gone
through, also those of other categories, and --feed takes the id of a feed that is gone.

In CSV a cell with text of a feed that begins with = + - @, a tab or a line break has a ' before it, for a spreadsheet would take it
for a formula.`,
		Args: takes(0, 0, ""),
	}
	f := c.Flags()
	f.Int64Var(&o.after, "after", 0, "changes after this `SEQ`, in order; 0: from the first")
	f.StringVar(&o.since, "since", "", "only what was first seen or changed since a `TIME` (RFC 3339), or for so long (24h)")
	f.String("category", "", "only the category `NAME`")
	f.StringArrayVar(&o.feeds, "feed", nil, "only this `FEED`, by id or URL (repeatable)")
	f.IntVar(&o.limit, "limit", 0, "at most `N`; 0: all")
	f.BoolVar(&o.jsonLines, "jsonl", false, "one JSON object a line")
	f.BoolVar(&o.csv, "csv", false, "comma-separated values")
	f.BoolVar(&o.atom, "atom", false, "an Atom feed")
	f.BoolVar(&o.rss, "rss", false, "an RSS feed")
	c.RunE = p.with(func(ctx context.Context, a *app, _ []string) error {
		if err := exclusive(c, "json", "jsonl", "csv", "atom", "rss"); err != nil {
			return err
		}
		o.byChange, o.category = f.Changed("after"), givenText(c, "category")
		return runItems(ctx, a, o)
	})
	return c
}

func runItems(ctx context.Context, a *app, o itemsOptions) error {
	if o.after < 0 || o.limit < 0 {
		return usagef("--after and --limit cannot be negative")
	}
	since, err := sinceWhen(o.since, a.now())
	if err != nil {
		return err
	}
	return a.open(ctx, func(_ *state.Dir, s *store.Store) error {
		filter, err := o.filter(ctx, s)
		if err != nil {
			return err
		}
		filter.Since = since
		rows := s.Items(ctx, filter)
		return a.print(func(w io.Writer) error {
			switch {
			case a.json:
				return itemsJSON(w, rows)
			case o.jsonLines:
				return itemsJSONLines(w, rows)
			case o.csv:
				return itemsCSV(w, rows)
			case o.atom:
				return itemsAtom(w, rows, a.now())
			case o.rss:
				return itemsRSS(w, rows, a.now())
			default:
				return itemsTable(a, w, rows)
			}
		})
	})
}

// filter says what the flags choose. A category or feed that is not there is an error, but for the id of a feed that left changes; and so
// is a change that was never made, for who remembers it would take what is lost for no news.
func (o itemsOptions) filter(ctx context.Context, s *store.Store) (store.ItemFilter, error) {
	f := store.ItemFilter{ByChange: o.byChange, After: o.after, Limit: o.limit}
	if highest, err := s.HighestSeq(ctx); err != nil {
		return f, err
	} else if o.after > highest {
		return f, &hintedError{
			fmt.Errorf("--after %d: there was no such change yet, the last is %d", o.after, highest),
			"the database was put back from a backup, or it is another one: crawl run begins a new epoch, and who reads that in crawl status --json begins anew",
		}
	}
	if o.category != nil {
		if _, err := s.FindCategory(ctx, *o.category); err != nil {
			return f, err
		}
		f.Category = *o.category
	}
	for _, ref := range o.feeds {
		id, err := o.feed(ctx, s, ref)
		if err != nil {
			return f, err
		}
		f.FeedIDs = append(f.FeedIDs, id)
	}
	return f, nil
}

// feed is the id of the feed that a flag names; by id also of one that is gone, when its removals are asked for.
func (o itemsOptions) feed(ctx context.Context, s *store.Store, ref string) (int64, error) {
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil && o.byChange {
		if gone, err := s.IsGone(ctx, id); gone || err != nil {
			return id, err
		}
	}
	f, err := s.FindFeed(ctx, feedRef(ref))
	return f.ID, err
}

// sinceWhen reads an instant or a duration back from now; "" is the zero time.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, &usageError{fmt.Errorf("--since: %q is neither a time nor a duration", text), "write 2026-11-30T10:30:00Z, 2026-11-30 or 24h"}
}

// exportedItem is one item of `items --json` and `--jsonl`.
type exportedItem struct {
	Seq         int64               `json:"seq"`
	Kind        string              `json:"kind"`
	Columns     []string            `json:"columns"`
	ID          int64               `json:"id"`
	FeedID      int64               `json:"feed_id"`
	FeedURL     string              `json:"feed_url"`
	FeedTitle   *string             `json:"feed_title"`
	Key         string              `json:"key"`
	GUID        *string             `json:"guid"`
	URL         *string             `json:"url"`
	Title       *string             `json:"title"`
	Author      *string             `json:"author"`
	PublishedAt *string             `json:"published_at"`
	UpdatedAt   *string             `json:"updated_at"`
	FirstSeenAt *string             `json:"first_seen_at"`
	ChangedAt   *string             `json:"changed_at"`
	Summary     *string             `json:"summary"`
	Content     *string             `json:"content"`
	Categories  []string            `json:"categories"`
	Enclosures  []exportedEnclosure `json:"enclosures"`
}

// exportedEnclosure is an attached file.
type exportedEnclosure struct {
	URL    string  `json:"url"`
	Type   *string `json:"type"`
	Length *int64  `json:"length"`
}

// removedItem is all that is left of an item that was removed.
type removedItem struct {
	Seq    int64  `json:"seq"`
	Kind   string `json:"kind"`
	ID     int64  `json:"id"`
	FeedID int64  `json:"feed_id"`
}

const kindRemoved = "removed"

// exported is a row in the form of JSON.
func exported(r store.ItemRow) any {
	if r.Kind == kindRemoved {
		return removedItem{r.Seq, r.Kind, r.ID, r.FeedID}
	}
	return exportedItem{
		Seq: r.Seq, Kind: r.Kind, Columns: append([]string{}, r.Columns...), ID: r.ID, FeedID: r.FeedID, FeedURL: r.FeedURL,
		FeedTitle: nullText(r.FeedTitle), Key: r.Key, GUID: nullText(r.GUID), URL: nullText(r.URL), Title: nullText(r.Title), Author: nullText(r.Author),
		PublishedAt: nullTime(r.PublishedAt), UpdatedAt: nullTime(r.UpdatedAt),
		FirstSeenAt: nullTime(r.FirstSeenAt), ChangedAt: nullTime(r.ChangedAt),
		Summary: nullText(r.Summary), Content: nullText(r.Content),
		Categories: append([]string{}, r.Categories...), Enclosures: exportedEnclosures(r.Enclosures),
	}
}

func itemsJSONLines(w io.Writer, rows iter.Seq2[store.ItemRow, error]) error {
	e := newJSON(w)
	for r, err := range rows {
		if err == nil {
			err = e.Encode(exported(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// itemsJSON writes one array, an item a line, as the rows come.
func itemsJSON(w io.Writer, rows iter.Seq2[store.ItemRow, error]) error {
	before := "["
	e := newJSON(w)
	for r, err := range rows {
		if err == nil {
			_, err = io.WriteString(w, before)
		}
		if err == nil {
			err = e.Encode(exported(r))
		}
		if err != nil {
			return err
		}
		before = ","
	}
	if before == "[" {
		_, err := io.WriteString(w, "[]\n")
		return err
	}
	_, err := io.WriteString(w, "]\n")
	return err
}

func itemsTable(a *app, w io.Writer, rows iter.Seq2[store.ItemRow, error]) error {
	t := newTable("SEQ", "KIND", "ID", "FEED", "SEEN", "TITLE", "URL")
	for r, err := range rows {
		if err != nil {
			return err
		}
		t.add(fmt.Sprint(r.Seq), r.Kind, fmt.Sprint(r.ID), fmt.Sprint(r.FeedID), dash(stamp(r.FirstSeenAt)),
			dash(narrow(r.Title)), dash(r.URL))
	}
	return t.write(w, a.width())
}
