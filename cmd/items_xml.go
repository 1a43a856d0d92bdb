package cmd

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/microcosm-cc/bluemonday"

	"crawl/store"
)

// Items as a feed of our own. Their HTML was written by strangers: it goes through the policy for user content, so that a reader
// that shows the feed is as safe as one can make it. Removed items have no place in a feed.

// itemsAtom writes an Atom feed (RFC 4287).
func itemsAtom(w io.Writer, rows iter.Seq2[store.ItemRow, error], now time.Time) error {
	x := newFeedWriter(w)
	x.printf("%s<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<title>crawl</title>\n<id>urn:crawl:items</id>\n<updated>%s</updated>\n<author><name>crawl</name></author>\n",
		xml.Header, stamp(now))
	for r, err := range rows {
		if err != nil {
			return err
		}
		if r.Kind != kindRemoved {
			x.atomEntry(r)
		}
	}
	x.printf("</feed>\n")
	return x.err
}

func (x *feedWriter) atomEntry(r store.ItemRow) {
	x.printf("<entry>\n")
	x.element("title", r.Title, "")
	if r.Title == "" {
		x.printf("<title/>\n") // it must be there
	}
	x.element("id", fmt.Sprintf("urn:crawl:item:%d", r.ID), "")
	if r.URL != "" {
		x.printf("<link rel=\"alternate\" href=\"%s\"/>\n", attribute(r.URL))
	}
	x.element("updated", stamp(cmp.Or(r.UpdatedAt, r.PublishedAt, r.ChangedAt, r.FirstSeenAt)), "")
	x.element("published", stamp(r.PublishedAt), "")
	if r.Author != "" {
		x.printf("<author>")
		x.element("name", r.Author, "")
		x.printf("</author>\n")
	}
	for _, c := range r.Categories {
		x.printf("<category term=\"%s\"/>\n", attribute(c))
	}
	for _, e := range r.Enclosures {
		x.printf("<link rel=\"enclosure\" href=\"%s\"", attribute(e.URL))
		if e.Type != "" {
			x.printf(" type=\"%s\"", attribute(e.Type))
		}
		if e.Length > 0 {
			x.printf(" length=\"%d\"", e.Length)
		}
		x.printf("/>\n")
	}
	x.element("summary", x.html(r.Summary), ` type="html"`)
	x.element("content", x.html(r.Content), ` type="html"`)
	x.printf("<source><id>%s</id>\n", attribute(r.FeedURL))
	x.element("title", r.FeedTitle, "")
	x.printf("</source>\n</entry>\n")
}

// itemsRSS writes an RSS 2.0 feed (RSS Advisory Board, 2.0.11).
func itemsRSS(w io.Writer, rows iter.Seq2[store.ItemRow, error], now time.Time) error {
	x := newFeedWriter(w)
	x.printf("%s<rss version=\"2.0\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\">\n<channel>\n<title>crawl</title>\n<link>urn:crawl:items</link>\n<description>items that crawl has stored</description>\n<lastBuildDate>%s</lastBuildDate>\n",
		xml.Header, now.UTC().Format(time.RFC1123Z))
	for r, err := range rows {
		if err != nil {
			return err
		}
		if r.Kind != kindRemoved {
			x.rssItem(r)
		}
	}
	x.printf("</channel>\n</rss>\n")
	return x.err
}

func (x *feedWriter) rssItem(r store.ItemRow) {
	x.printf("<item>\n")
	x.element("title", r.Title, "")
	x.element("link", r.URL, "")
	x.element("guid", fmt.Sprintf("urn:crawl:item:%d", r.ID), ` isPermaLink="false"`)
	if !r.PublishedAt.IsZero() {
		x.element("pubDate", r.PublishedAt.UTC().Format(time.RFC1123Z), "")
	}
	x.element("dc:creator", r.Author, "")
	for _, c := range r.Categories {
		x.element("category", c, "")
	}
	x.element("description", x.html(cmp.Or(r.Summary, r.Content)), "")
	if r.Summary != "" {
		x.element("content:encoded", x.html(r.Content), "")
	}
	for _, e := range r.Enclosures {
		x.printf("<enclosure url=\"%s\" length=\"%d\" type=\"%s\"/>\n", attribute(e.URL), e.Length, attribute(cmp.Or(e.Type, "application/octet-stream")))
	}
	x.element("source", cmp.Or(r.FeedTitle, r.FeedURL), fmt.Sprintf(" url=\"%s\"", attribute(r.FeedURL)))
	x.printf("</item>\n")
}

// feedWriter writes XML and keeps the first error.
type feedWriter struct {
	w      io.Writer
	policy *bluemonday.Policy
	err    error
}

func newFeedWriter(w io.Writer) *feedWriter {
	return &feedWriter{w: w, policy: bluemonday.UGCPolicy()}
}

func (x *feedWriter) printf(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.w, format, args...)
	}
}

// element writes an element with text, nothing if there is none. attributes are as they are written.
func (x *feedWriter) element(name, text, attributes string) {
	if text == "" {
		return
	}
	x.printf("<%s%s>%s</%s>\n", name, attributes, attribute(text), name)
}

// html makes a stranger's HTML safe.
func (x *feedWriter) html(s string) string { return x.policy.Sanitize(s) }
