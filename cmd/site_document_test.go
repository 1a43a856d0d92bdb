package cmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

var contentTypes = map[string]string{
	"rss": "application/rss+xml", "atom": "application/atom+xml", "rdf": "application/rdf+xml", "json": "application/feed+json",
}

// document is the feed in its format.
func (f *siteFeed) document() string {
	switch f.format {
	case "rss":
		return f.rss()
	case "atom":
		return f.atom()
	case "rdf":
		return f.rdf()
	}
	return f.json()
}

// element is <name>text</name>, or nothing for an empty text. Texts of a site need no escaping.
func element(name, text string) string {
	if text == "" {
		return ""
	}
	end, _, _ := strings.Cut(name, " ")
	return "<" + name + ">" + text + "</" + end + ">"
}

func (f *siteFeed) rss() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel>%s<link>https://www.example.org/</link>`+
		`<description>A feed</description>`, element("title", f.title))
	for _, i := range f.items {
		b.WriteString("<item>" + element(`guid isPermaLink="false"`, i.guid) + element("link", i.link) + element("title", i.title) +
			element("description", i.text) + element("pubDate", i.published.Format(time.RFC1123Z)) + "</item>\n")
	}
	return b.String() + "</channel></rss>"
}

func (f *siteFeed) atom() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom">%s<id>tag:%s</id>`+
		`<updated>2026-11-01T00:00:00Z</updated>`, element("title", f.title), f.title)
	for _, i := range f.items {
		link := ""
		if i.link != "" {
			link = `<link rel="alternate" href="` + i.link + `"/>`
		}
		b.WriteString("<entry>" + element("id", i.guid) + link + element("title", i.title) +
			element("published", i.published.Format(time.RFC3339)) + element("updated", i.published.Format(time.RFC3339)) +
			element(`content type="text"`, i.text) + "</entry>\n")
	}
	return b.String() + "</feed>"
}

func (f *siteFeed) rdf() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" `+
		`xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="https://www.example.org/">%s`+
		`<link>https://www.example.org/</link><description>A feed</description></channel>`, element("title", f.title))
	for _, i := range f.items {
		about := ""
		if i.guid != "" {
			about = ` rdf:about="` + i.guid + `"`
		}
		b.WriteString("<item" + about + ">" + element("title", i.title) + element("link", i.link) + element("description", i.text) +
			element("dc:date", i.published.Format(time.RFC3339)) + "</item>\n")
	}
	return b.String() + "</rdf:RDF>"
}

func (f *siteFeed) json() string {
	items := []map[string]string{}
	for _, i := range f.items {
		item := map[string]string{}
		for name, value := range map[string]string{
			"id": i.guid, "url": i.link, "title": i.title, "content_html": i.text, "date_published": i.published.Format(time.RFC3339),
		} {
			if value != "" {
				item[name] = value
			}
		}
		items = append(items, item)
	}
	text, err := json.Marshal(map[string]any{"version": "https://jsonfeed.org/version/1.1", "title": f.title, "items": items})
	if err != nil {
		panic(err)
	}
	return string(text)
}
