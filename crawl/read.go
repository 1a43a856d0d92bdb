package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

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

const (
	// readPatience is when a document is given up although its reader, who has 20 s, has not said so: it hangs.
	readPatience = 30 * time.Second
	// stopPatience is how long the end of a run waits for the documents that are being read, all of them.
	stopPatience = 2 * time.Second
)

// reading is what came of one document. One that was abandoned is still being read: its body must be left alone.
type reading struct {
	doc       *feed.Feed
	err       error
	abandoned bool
}

// readWithin reads a document, but waits no longer for it than it may take, whatever it does to its reader. When over is closed it
// does not wait at all; err is nil then.
func readWithin(over <-chan struct{}, read func() (*feed.Feed, error)) reading {
	done := make(chan reading, 1)
	go func() {
		doc, err := read()
		done <- reading{doc: doc, err: err}
	}()
	patience := time.NewTimer(readPatience)
	defer patience.Stop()
	select {
	case r := <-done:
		return r
	case <-over:
		return reading{abandoned: true}
	case <-patience.C:
		text := fmt.Sprintf("reading it took longer than %s", readPatience)
		return reading{err: &feed.Error{Kind: feed.KindParse, Text: text}, abandoned: true}
	}
}

// endOfPatience is closed when a run that has ended has waited long enough for what is being read.
func endOfPatience(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	context.AfterFunc(ctx, func() { time.AfterFunc(stopPatience, func() { close(over) }) })
	return over
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
