package cmd

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// writeOPML writes feeds as an OPML 2.0 file that readOPML reads back to the same: one folder a category, nested where its name
// is, feeds of no category outside. The feeds are sorted by category.
func writeOPML(w io.Writer, feeds []outline) error {
	o := opmlWriter{w: w}
	o.printf("%s<opml version=\"2.0\">\n<head><title>crawl</title></head>\n<body>\n", xml.Header)
	for _, f := range feeds {
		o.enter(folders(f.category))
		title := f.title
		if title == "" {
			title = f.url
		}
		o.printf("%s<outline type=\"rss\" text=\"%s\" xmlUrl=\"%s\"", o.indent(), attribute(title), attribute(f.url))
		if f.siteURL != "" {
			o.printf(" htmlUrl=\"%s\"", attribute(f.siteURL))
		}
		o.printf("/>\n")
	}
	o.enter(nil)
	o.printf("</body>\n</opml>\n")
	return o.err
}

// folders are the names of a category's folders. A name that would not come back from its parts is one folder.
func folders(category string) []string {
	if category == "" {
		return nil
	}
	parts := strings.Split(category, folderSeparator)
	for _, part := range parts {
		if part == "" || part != clean(part) {
			return []string{category}
		}
	}
	return parts
}

// opmlWriter keeps the first error and the open folders.
type opmlWriter struct {
	w    io.Writer
	err  error
	open []string
}

func (o *opmlWriter) printf(format string, args ...any) {
	if o.err == nil {
		_, o.err = fmt.Fprintf(o.w, format, args...)
	}
}

func (o *opmlWriter) indent() string { return strings.Repeat("  ", len(o.open)+1) }

// enter closes and opens folders until those named are open.
func (o *opmlWriter) enter(names []string) {
	common := 0
	for common < len(names) && common < len(o.open) && names[common] == o.open[common] {
		common++
	}
	for len(o.open) > common {
		o.open = o.open[:len(o.open)-1]
		o.printf("%s</outline>\n", o.indent())
	}
	for _, name := range names[common:] {
		o.printf("%s<outline text=\"%s\">\n", o.indent(), attribute(name))
		o.open = append(o.open, name)
	}
}

// attribute escapes a value, without what XML cannot carry.
func attribute(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(carried(s))) // a Builder takes everything
	return b.String()
}
