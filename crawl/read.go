package crawl

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"crawl/crawl/feed"
)

// read reads a document. A server may repeat in it what it was asked for, tokens and all; so what its messages say of the document is
// without the parts of its addresses.
func read(ctx context.Context, d feed.Document, asked string) (*feed.Feed, error) {
	f, err := feed.Read(ctx, d)
	var e *feed.Error
	if errors.As(err, &e) {
		return nil, &feed.Error{Kind: e.Kind, Text: conceal(e.Text, asked, d.URL)}
	}
	if f != nil {
		for i, w := range f.Warnings {
			f.Warnings[i] = conceal(w, asked, d.URL)
		}
	}
	return f, err
}

// leastSecret is how long a part of an address must be to be taken for a secret, in bytes.
const leastSecret = 8

// conceal takes the paths, queries and their longer parts of some addresses out of a text.
func conceal(text string, addresses ...string) string {
	var parts []string
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		parts = append(parts, u.RequestURI(), u.RawQuery, u.EscapedPath(), u.Path)
		parts = append(parts, strings.Split(u.Path, "/")...)
		parts = append(parts, strings.FieldsFunc(u.RawQuery, func(r rune) bool { return r == '&' || r == '=' })...)
		for _, values := range u.Query() {
			parts = append(parts, values...)
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, p := range parts {
		if len(p) >= leastSecret {
			text = strings.ReplaceAll(text, p, "…")
		}
	}
	return text
}
