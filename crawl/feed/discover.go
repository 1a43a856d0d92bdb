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

// Page is what an HTML page says of where else to look, addresses absolute.
type Page struct {
	Feeds   []Candidate // by <link rel=alternate>, in page order
	Refresh string      // where <meta http-equiv=refresh> leads, "" where to nowhere else (WHATWG HTML, declarative refresh)
}

// Discover looks through an HTML page.
func Discover(page []byte, pageURL string) Page {
	text, _, _ := decode(page[:min(len(page), maxPage)], "")
	z := nethtml.NewTokenizer(bytes.NewReader(text))
	z.SetMaxBuf(64 << 10)
	base := pageURL
	var links resolver
	var p Page
	for len(p.Feeds) < maxCandidates {
		switch z.Next() {
		case nethtml.ErrorToken:
			return p
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			name, attrs := tagOf(z)
			switch {
			case name == "base" && base == pageURL && attrs["href"] != "":
				base = links.joinBase(pageURL, attrs["href"])
			case name == "link" && namesFeed(attrs):
				c := Candidate{links.resolve(base, attrs["href"]), plainText(clean(attrs["title"]), plain, 300), attrs["type"]}
				if c.URL != "" && !slices.ContainsFunc(p.Feeds, func(f Candidate) bool { return f.URL == c.URL }) {
					p.Feeds = append(p.Feeds, c)
				}
			case name == "meta" && p.Refresh == "" && strings.EqualFold(strings.TrimSpace(attrs["http-equiv"]), "refresh"):
				if to := links.resolve(base, refreshTo(attrs["content"])); to != pageURL {
					p.Refresh = to
				}
			}
		}
	}
	return p
}

// refreshTo is the address in the content of <meta http-equiv=refresh>, which follows seconds, and perhaps "url=" and a quote; "" where
// the page only loads itself again.
func refreshTo(content string) string {
	const space = " \t\r\n\f"
	rest := strings.TrimLeft(content, space+"0123456789.")
	seconds, to := content[:len(content)-len(rest)], strings.TrimLeft(rest, space+";,")
	if to == rest && seconds == strings.TrimRight(seconds, space) { // nothing parts them
		return ""
	}
	if key, value, found := strings.Cut(to, "="); found && strings.EqualFold(strings.TrimSpace(key), "url") {
		to = strings.TrimLeft(value, space)
	}
	if to != "" && (to[0] == '\'' || to[0] == '"') {
		to, _, _ = strings.Cut(to[1:], to[:1])
	}
	return strings.TrimSpace(to)
}

func tagOf(z *nethtml.Tokenizer) (name string, attrs map[string]string) {
	tag, more := z.TagName()
	name = string(tag)
	if name != "link" && name != "base" && name != "meta" {
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
