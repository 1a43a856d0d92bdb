package feed

import (
	"net/url"
	"strings"
)

// KnownFeeds gives the feed addresses that follow by rule from a site's page address (YouTube, Reddit, Mastodon, GitHub …),
// most likely first. A YouTube @handle has none: only its page names the channel, by a <link> that Discover finds.
func KnownFeeds(pageURL string) []Candidate {
	u, err := url.Parse(pageURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	p := page{host: strings.ToLower(u.Hostname()), query: u.Query()}
	for _, part := range strings.Split(u.EscapedPath(), "/") {
		if part != "" {
			p.parts = append(p.parts, part)
		}
	}
	p.host = strings.TrimPrefix(p.host, "www.")
	site := p.host
	for _, prefix := range []string{"m.", "old.", "new.", "music."} {
		site = strings.TrimPrefix(site, prefix)
	}
	if rule := sites[site]; rule != nil {
		return rule(p)
	}
	for suffix, tail := range hosted {
		if strings.HasSuffix(p.host, suffix) {
			return some("", "https://"+p.host+tail)
		}
	}
	if p.part(0) != "" && p.part(0)[0] == '@' && len(p.parts) <= 2 {
		return mastodon(u.Host, p.part(0)[1:])
	}
	return nil
}

// page is the address of a page in its parts.
type page struct {
	host  string
	parts []string // of the path, still escaped
	query url.Values
}

func (p page) part(i int) string {
	if i < len(p.parts) {
		return p.parts[i]
	}
	return ""
}

// The media types of candidates.
const (
	rssType  = "application/rss+xml"
	atomType = "application/atom+xml"
)

func some(kind string, addresses ...string) []Candidate {
	var out []Candidate
	for _, a := range addresses {
		out = append(out, Candidate{URL: a, Type: kind})
	}
	return out
}

var sites = map[string]func(page) []Candidate{
	"youtube.com": youtube, "youtu.be": youtube, "reddit.com": reddit, "github.com": github, "gitlab.com": gitlab,
	"codeberg.org": codeberg, "medium.com": medium, "bsky.app": bluesky, "stackoverflow.com": stackoverflow,
	"news.ycombinator.com": func(page) []Candidate { return some(rssType, "https://news.ycombinator.com/rss") },
	"lobste.rs":            lobsters, "dev.to": devto, "pypi.org": pypi, "vimeo.com": vimeo,
}

// hosted are the feeds of sites that have a host name of their own at a publisher.
var hosted = map[string]string{
	".substack.com": "/feed", ".medium.com": "/feed", ".tumblr.com": "/rss", ".wordpress.com": "/feed/",
	".blogspot.com": "/feeds/posts/default", ".livejournal.com": "/data/rss", ".github.io": "/feed.xml",
	".bearblog.dev": "/feed/", ".dreamwidth.org": "/data/rss",
}

func youtube(p page) []Candidate {
	const feeds = "https://www.youtube.com/feeds/videos.xml?"
	var out []Candidate
	if list := p.query.Get("list"); list != "" {
		out = some(atomType, feeds+"playlist_id="+url.QueryEscape(list))
	}
	switch p.part(0) {
	case "channel":
		if id := p.part(1); strings.HasPrefix(id, "UC") {
			out = append(out, some(atomType, feeds+"channel_id="+id)...)
		}
	case "user":
		if p.part(1) != "" {
			out = append(out, some(atomType, feeds+"user="+p.part(1))...)
		}
	}
	return out
}

func reddit(p page) []Candidate {
	switch p.part(0) {
	case "":
		return some(atomType, "https://www.reddit.com/.rss")
	case "r", "user", "u", "domain":
		if p.part(1) == "" {
			return nil
		}
		parts := p.parts
		if parts[0] == "u" {
			parts = append([]string{"user"}, parts[1:]...)
		}
		return some(atomType, "https://www.reddit.com/"+strings.TrimSuffix(strings.Join(parts, "/"), ".rss")+"/.rss")
	}
	return nil
}

// mastodon knows the profiles of the many servers that have them at /@name; @name@host is a profile of host.
func mastodon(host, name string) []Candidate {
	if user, other, ok := strings.Cut(name, "@"); ok {
		if name, host = user, other; !strings.Contains(host, ".") {
			return nil
		}
	}
	if name == "" || strings.ContainsAny(host, "/?#@%") {
		return nil
	}
	return some(rssType, "https://"+host+"/@"+name+".rss")
}

func github(p page) []Candidate {
	owner, repo := p.part(0), strings.TrimSuffix(p.part(1), ".git")
	switch {
	case owner == "" || githubPages[owner]:
		return nil
	case repo == "":
		return some(atomType, "https://github.com/"+owner+".atom")
	}
	base := "https://github.com/" + owner + "/" + repo
	switch branch := p.part(3); p.part(2) {
	case "releases", "tags", "wiki":
		return some(atomType, base+"/"+p.part(2)+".atom")
	case "commits", "tree":
		if branch != "" {
			return some(atomType, base+"/commits/"+strings.Join(p.parts[3:], "/")+".atom")
		}
		return some(atomType, base+"/commits.atom")
	case "discussions":
		return some(atomType, base+"/discussions.atom")
	}
	return some(atomType, base+"/releases.atom", base+"/commits.atom", base+"/tags.atom")
}

// githubPages are first parts of paths that are no owner.
var githubPages = map[string]bool{
	"about": true, "apps": true, "collections": true, "contact": true, "customer-stories": true, "enterprise": true,
	"events": true, "explore": true, "features": true, "issues": true, "login": true, "marketplace": true,
	"notifications": true, "orgs": true, "pricing": true, "pulls": true, "search": true, "security": true,
	"settings": true, "signup": true, "site": true, "sponsors": true, "team": true, "topics": true, "trending": true,
}

func gitlab(p page) []Candidate {
	if len(p.parts) < 2 {
		if p.part(0) == "" {
			return nil
		}
		return some(atomType, "https://gitlab.com/"+p.part(0)+".atom")
	}
	project := strings.Join(p.parts, "/")
	project, _, _ = strings.Cut(project, "/-")
	return some(atomType, "https://gitlab.com/"+project+"/-/tags?format=atom", "https://gitlab.com/"+project+".atom")
}

func codeberg(p page) []Candidate {
	switch {
	case p.part(0) == "":
		return nil
	case p.part(1) == "":
		return some(rssType, "https://codeberg.org/"+p.part(0)+".rss")
	}
	base := "https://codeberg.org/" + p.part(0) + "/" + p.part(1)
	return some(rssType, base+"/releases.rss", base+".rss")
}

func medium(p page) []Candidate {
	if p.part(0) == "" {
		return nil
	}
	if p.part(0) == "tag" {
		return some(rssType, "https://medium.com/feed/tag/"+p.part(1))
	}
	return some(rssType, "https://medium.com/feed/"+p.part(0))
}

func bluesky(p page) []Candidate {
	if p.part(0) != "profile" || p.part(1) == "" {
		return nil
	}
	return some(rssType, "https://bsky.app/profile/"+p.part(1)+"/rss")
}

func stackoverflow(p page) []Candidate {
	switch {
	case p.part(0) == "questions" && p.part(1) == "tagged" && p.part(2) != "":
		return some(atomType, "https://stackoverflow.com/feeds/tag/"+p.part(2))
	case p.part(0) == "questions" && p.part(1) != "":
		return some(atomType, "https://stackoverflow.com/feeds/question/"+p.part(1))
	case p.part(0) == "users" && p.part(1) != "":
		return some(atomType, "https://stackoverflow.com/feeds/user/"+p.part(1))
	}
	return some(atomType, "https://stackoverflow.com/feeds")
}

func lobsters(p page) []Candidate {
	if p.part(0) == "t" && p.part(1) != "" {
		return some(rssType, "https://lobste.rs/t/"+p.part(1)+".rss")
	}
	return some(rssType, "https://lobste.rs/rss")
}

func devto(p page) []Candidate {
	if p.part(0) == "t" && p.part(1) != "" {
		return some(rssType, "https://dev.to/feed/tag/"+p.part(1))
	}
	if p.part(0) == "" {
		return some(rssType, "https://dev.to/feed")
	}
	return some(rssType, "https://dev.to/feed/"+p.part(0))
}

func pypi(p page) []Candidate {
	if p.part(0) != "project" || p.part(1) == "" {
		return nil
	}
	return some(rssType, "https://pypi.org/rss/project/"+p.part(1)+"/releases.xml")
}

func vimeo(p page) []Candidate {
	if p.part(0) == "" {
		return nil
	}
	return some(rssType, "https://vimeo.com/"+p.part(0)+"/videos/rss")
}
