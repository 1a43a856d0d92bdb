package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/crawl/feed"
	"crawl/store"
)

func newCheck(p program) *cobra.Command {
	c := &cobra.Command{
		Use:   "check URL|FILE",
		Short: "fetch and read one document, print what a run would store, with every warning; stores nothing",
		Args:  takes(1, 1, "URL|FILE"),
		RunE:  p.with(func(ctx context.Context, a *app, args []string) error { return runCheck(ctx, a, args[0]) }),
	}
	addSettings(c.Flags(), forFetch)
	showOnly(c.Flags(), "timeout", "connect-timeout", "max-body", "allow-net", "user-agent", "proxy", "min-interval", "max-interval")
	return c
}

// checked is what `check --json` prints.
type checked struct {
	URL          *string       `json:"url"`
	Status       *int          `json:"status"`
	Type         *string       `json:"type"`
	Title        *string       `json:"title"`
	SiteURL      *string       `json:"site_url"`
	Redirects    []redirect    `json:"redirects"`
	ETag         *string       `json:"etag"`
	LastModified *string       `json:"last_modified"`
	Bytes        int64         `json:"bytes"`
	NextSeconds  *int64        `json:"next_seconds"`
	Count        int           `json:"count"`
	Warnings     []string      `json:"warnings"`
	ParsedWhole  *string       `json:"parsed_whole"`
	Items        []checkedItem `json:"items"`
	Error        *string       `json:"error"`
}

// redirect is one hop.
type redirect struct {
	Status int    `json:"status"`
	From   string `json:"from"`
	To     string `json:"to"`
}

// checkedItem is an item as it would be stored.
type checkedItem struct {
	Key         string              `json:"key"`
	GUID        *string             `json:"guid"`
	URL         *string             `json:"url"`
	Title       *string             `json:"title"`
	Author      *string             `json:"author"`
	PublishedAt *string             `json:"published_at"`
	UpdatedAt   *string             `json:"updated_at"`
	Summary     *string             `json:"summary"`
	Content     *string             `json:"content"`
	Categories  []string            `json:"categories"`
	Enclosures  []exportedEnclosure `json:"enclosures"`
}

func runCheck(ctx context.Context, a *app, address string) error {
	c, err := crawl.Check(ctx, a.crawlConfig(), address)
	if err != nil {
		err = hintAtScheme(hintAtFile(err, address), address)
	}
	var unread *feed.Error
	if c.URL != "" && errors.As(err, &unread) && unread.Kind == feed.KindNotAFeed {
		err = &hintedError{err, "crawl add finds the feed of a page"}
	}
	if a.json {
		out := checkedAs(c)
		if err != nil {
			out.Error = nullText(err.Error())
		}
		if printed := a.printJSON(out); printed != nil {
			return printed
		}
		return err
	}
	if c.URL != "" || err == nil {
		if printed := a.print(func(w io.Writer) error { return writeChecked(w, c) }); printed != nil {
			return printed
		}
	}
	if err != nil || len(c.Items) == 0 {
		return err
	}
	t := newTable("PUBLISHED", "TITLE", "URL", "KEY")
	for _, i := range c.Items {
		t.add(dash(stamp(i.PublishedAt)), dash(narrow(i.Title)), dash(i.URL), i.Key)
	}
	return t.print(a.program)
}

// hintAtFile adds to an error what stands against the address as a file's name.
func hintAtFile(err error, address string) error {
	_, missing := os.Stat(address)
	var unread *fs.PathError
	switch {
	case missing == nil && errors.As(err, &unread):
		return unreadable(err)
	case errors.Is(missing, fs.ErrPermission):
		return unreadable(missing)
	case missing != nil && !strings.Contains(address, ":"):
		return &hintedError{err, "there is no file of that name either"}
	}
	return err
}

// writeChecked prints the document's own facts, those that are known.
func writeChecked(w io.Writer, c crawl.Checked) error {
	var facts strings.Builder
	fact := func(name, value string) {
		if value = clean(value); value != "" {
			fmt.Fprintf(&facts, "%-9s %s\n", name, value)
		}
	}
	for _, h := range c.Hops {
		fact("redirect", fmt.Sprintf("%d from %s to %s", h.Status, h.From, h.To))
	}
	fact("url", c.URL)
	if c.Status != 0 {
		fact("status", fmt.Sprint(c.Status))
	}
	fact("type", c.Type)
	fact("title", c.Title)
	fact("site", c.SiteURL)
	fact("etag", c.ETag)
	fact("modified", c.LastMod)
	fact("bytes", fmt.Sprint(c.Bytes))
	if c.Next > 0 {
		fact("next", "not before "+short(c.Next))
	}
	for _, warning := range c.Warnings {
		fact("warning", warning)
	}
	if c.Whole != "" {
		fact("parsed", "whole each time: "+c.Whole)
	}
	if c.Type != "" {
		fact("items", fmt.Sprintf("%d in the document, %d to store", c.Count, len(c.Items)))
	}
	_, err := io.WriteString(w, facts.String())
	return err
}

func checkedAs(c crawl.Checked) checked {
	out := checked{
		URL: nullText(c.URL), Type: nullText(c.Type), Title: nullText(c.Title), SiteURL: nullText(c.SiteURL),
		Redirects: []redirect{}, ETag: nullText(c.ETag), LastModified: nullText(c.LastMod), Bytes: c.Bytes,
		Count: c.Count, Warnings: append([]string{}, c.Warnings...),
		ParsedWhole: nullText(c.Whole), Items: []checkedItem{},
	}
	if c.Status != 0 {
		out.Status = &c.Status
	}
	if seconds := int64(c.Next.Seconds()); seconds > 0 {
		out.NextSeconds = &seconds
	}
	for _, h := range c.Hops {
		out.Redirects = append(out.Redirects, redirect(h))
	}
	for _, i := range c.Items {
		out.Items = append(out.Items, checkedItem{
			Key: i.Key, GUID: nullText(i.GUID), URL: nullText(i.URL), Title: nullText(i.Title), Author: nullText(i.Author),
			PublishedAt: nullTime(i.PublishedAt), UpdatedAt: nullTime(i.UpdatedAt),
			Summary: nullText(i.Summary), Content: nullText(i.Content),
			Categories: append([]string{}, i.Categories...), Enclosures: exportedEnclosures(i.Enclosures),
		})
	}
	return out
}

func exportedEnclosures(list []store.Enclosure) []exportedEnclosure {
	out := []exportedEnclosure{}
	for _, e := range list {
		x := exportedEnclosure{URL: e.URL, Type: nullText(e.Type)}
		if e.Length > 0 {
			x.Length = &e.Length
		}
		out = append(out, x)
	}
	return out
}
