package feed

import (
	"bytes"
	"net/url"
	"path"
	"slices"
	"strings"

	nethtml "golang.org/x/net/html"
)

// Candidate is a feed that a page names.
type Candidate struct {
	URL, Title, Type string
}

const (
	maxPage       = 2 << 20 // bytes of a page that are looked at
	maxCandidates = 50
)

// Discover finds the feeds that an HTML page names by <link rel=alternate>, absolute, in page order.
func Discover(page []byte, pageURL string) []Candidate {
	text, _, _ := decode(page[:min(len(page), maxPage)], "")
	z := nethtml.NewTokenizer(bytes.NewReader(text))
	z.SetMaxBuf(64 << 10)
	base := pageURL
	var links resolver
	var found []Candidate
	for len(found) < maxCandidates {
		switch z.Next() {
		case nethtml.ErrorToken:
			return found
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, attrs := tagOf(z)
			switch {
			case name == "base" && base == pageURL && attrs["href"] != "":
				base = links.joinBase(pageURL, attrs["href"])
			case name == "link" && namesFeed(attrs):
				c := Candidate{links.resolve(base, attrs["href"]), plainText(clean(attrs["title"]), plain, 300), attrs["type"]}
				if c.URL != "" && !slices.ContainsFunc(found, func(f Candidate) bool { return f.URL == c.URL }) {
					found = append(found, c)
				}
			}
		}
	}
	return found
}

func tagOf(z *nethtml.Tokenizer) (name string, attrs map[string]string) {
	tag, more := z.TagName()
	name = string(tag)
	if name != "link" && name != "base" {
		return name, nil
	}
	attrs = map[string]string{}
	for more && len(attrs) < 50 {
		var key, value []byte
		key, value, more = z.TagAttr()
		if _, seen := attrs[string(key)]; !seen {
			attrs[string(key)] = string(value)
		}
	}
	return name, attrs
}

// namesFeed reports whether a link leads to a feed: by a feed's media type, or a plain one with an address or title that
// says so (application/json alone is WordPress's interface for programs).
func namesFeed(attrs map[string]string) bool {
	rel := strings.Fields(strings.ToLower(attrs["rel"]))
	if slices.Contains(rel, "stylesheet") || !slices.Contains(rel, "alternate") && !slices.Contains(rel, "feed") {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(attrs["type"]), ";")
	switch strings.TrimSpace(kind) {
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json":
		return true
	case "application/json", "application/xml", "text/xml":
		about := strings.ToLower(attrs["href"] + " " + attrs["title"])
		return strings.Contains(about, "feed") || strings.Contains(about, "rss") || strings.Contains(about, "atom")
	}
	return slices.Contains(rel, "feed")
}

// CommonPaths gives the addresses worth a try on any site, most likely first: below the page itself, then at the top.
func CommonPaths(pageURL string) []string {
	u, err := url.Parse(pageURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	dirs := []string{"/"}
	if dir := path.Clean("/" + u.Path); dir != "/" && path.Ext(dir) == "" {
		dirs = []string{dir + "/", "/"}
	}
	var out []string
	add := func(p string) {
		if address := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: p}).String(); !slices.Contains(out, address) {
			out = append(out, address)
		}
	}
	for _, dir := range dirs {
		for _, name := range []string{"feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "feed.json", "feed/", "atom", "index.rss", "feed.rss", "feed.atom", "rss/"} {
			add(dir + name)
		}
	}
	for _, name := range []string{"/blog/feed", "/blog/rss.xml", "/blog/atom.xml", "/blog/index.xml", "/feeds/posts/default"} {
		add(name)
	}
	return out
}
