package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestDiscover(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<link rel="alternate" type="application/rss+xml" title="A &amp; B" href="/feed">`, "https://h/feed A & B"},
		{`<LINK REL='Alternate home' TYPE='application/atom+xml; charset=utf-8' HREF='atom'/>`, "https://h/a/atom "},
		{`<base href="/base/"><link rel=alternate type=application/feed+json href=f.json>`, "https://h/base/f.json "},
		{`<link rel="feed" href="//other/x">`, "https://other/x "},
		{`<link rel="alternate" type="application/json" href="/wp-json/wp/v2/posts/1">`, ""},
		{`<link rel="alternate" type="application/json" href="/feed.json">`, "https://h/feed.json "},
		{`<link rel="alternate" type="text/xml" title="RSS" href="/x">`, "https://h/x RSS"},
		{`<link rel="alternate stylesheet" type="application/rss+xml" href="/x">`, ""},
		{`<link rel="alternate" hreflang="de" href="/de">`, ""},
		{`<link rel="stylesheet" type="application/rss+xml" href="/x">`, ""},
		{`<link rel="alternate" type="application/rss+xml" href="javascript:x">`, ""},
		{`<!-- <link rel="alternate" type="application/rss+xml" href="/x"> -->`, ""},
		{`<script>"<link rel='alternate' type='application/rss+xml' href='/x'>"</script>`, ""},
		{`<link rel="alternate" type="application/rss+xml" href="/2"><link rel="alternate" type="application/rss+xml" href="/1"><link rel="alternate" type="application/rss+xml" href="/2">`, "https://h/2 ;https://h/1 "},
		{"<title>M\xfcll</title><link rel=alternate type=application/rss+xml title='M\xfcll' href=/x>", "https://h/x Müll"},
		{"", ""}, {"<link", ""}, {strings.Repeat("<", 100), ""},
	} {
		var got []string
		for _, f := range Discover([]byte(c.page), "https://h/a/b").Feeds {
			got = append(got, f.URL+" "+f.Title)
		}
		if s := strings.Join(got, ";"); s != c.want {
			t.Errorf("%s: got %q, want %q", c.page, s, c.want)
		}
	}
	many := numbered(1000, `<link rel=alternate type=application/rss+xml href=/%d>`)
	if got := len(Discover([]byte(many), "https://h/").Feeds); got != maxCandidates {
		t.Errorf("got %d candidates", got)
	}
}

func TestDiscoverRefresh(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<meta http-equiv="refresh" content="0; url=/blog/">`, "https://h/blog/"},
		{`<META CONTENT="5;URL='x?a=1&amp;b=2'" HTTP-EQUIV=Refresh>`, "https://h/a/x?a=1&b=2"},
		{`<base href="/base/"><meta http-equiv=refresh content='0,"new" rest'>`, "https://h/base/new"},
		{`<meta http-equiv=refresh content=" 0.5 ; //other/ ">`, "https://other/"},
		{`<meta http-equiv=refresh content="0 url = /x">`, "https://h/x"},
		{`<meta http-equiv=refresh content="0;url=/1"><meta http-equiv=refresh content="0;url=/2">`, "https://h/1"},
		{`<meta http-equiv=refresh content="300">`, ""}, {`<meta http-equiv=refresh content="300; url=">`, ""}, // it loads itself again
		{`<meta http-equiv=refresh content="9;url=b">`, ""}, {`<meta http-equiv=refresh content="">`, ""},
		{`<meta http-equiv=refresh content="0;url=javascript:x">`, ""}, {`<meta http-equiv=refresh content="/x">`, ""},
		{`<meta name=refresh content="0;url=/x">`, ""}, {`<!-- <meta http-equiv=refresh content="0;url=/x"> -->`, ""},
	} {
		if got := Discover([]byte(c.page), "https://h/a/b").Refresh; got != c.want {
			t.Errorf("%s: got %q, want %q", c.page, got, c.want)
		}
	}
}

func TestKnownFeeds(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{"https://www.youtube.com/channel/UCabc_-1", "https://www.youtube.com/feeds/videos.xml?channel_id=UCabc_-1"},
		{"https://m.youtube.com/user/Name", "https://www.youtube.com/feeds/videos.xml?user=Name"},
		{"https://youtube.com/playlist?list=PL1", "https://www.youtube.com/feeds/videos.xml?playlist_id=PL1"},
		{"https://www.youtube.com/watch?v=x&list=PL1", "https://www.youtube.com/feeds/videos.xml?playlist_id=PL1"},
		{"https://www.youtube.com/@handle", ""}, // only the page knows the channel
		{"https://www.reddit.com/r/golang/", "https://www.reddit.com/r/golang/.rss"},
		{"https://old.reddit.com/r/golang/top?t=week", "https://www.reddit.com/r/golang/top/.rss"},
		{"https://reddit.com/u/me", "https://www.reddit.com/user/me/.rss"},
		{"https://www.reddit.com/", "https://www.reddit.com/.rss"},
		{"https://mastodon.example/@ann", "https://mastodon.example/@ann.rss"},
		{"https://mastodon.example/@ann@other.example", "https://other.example/@ann.rss"},
		{"https://mastodon.example/@ann/12345", "https://mastodon.example/@ann.rss"},
		{"https://mastodon.example/@ann@bad/host", ""},
		{"https://github.com/owner", "https://github.com/owner.atom"},
		{"https://github.com/owner/repo.git", "https://github.com/owner/repo/releases.atom https://github.com/owner/repo/commits.atom https://github.com/owner/repo/tags.atom"},
		{"https://github.com/owner/repo/releases/tag/v1", "https://github.com/owner/repo/releases.atom"},
		{"https://github.com/owner/repo/commits/main", "https://github.com/owner/repo/commits/main.atom"},
		{"https://github.com/owner/repo/tree/feature/x", "https://github.com/owner/repo/commits/feature/x.atom"},
		{"https://github.com/owner/repo/tags", "https://github.com/owner/repo/tags.atom"},
		{"https://github.com/topics/go", ""}, {"https://github.com/", ""},
		{"https://gitlab.com/group/sub/project/-/issues", "https://gitlab.com/group/sub/project/-/tags?format=atom https://gitlab.com/group/sub/project.atom"},
		{"https://codeberg.org/o/r", "https://codeberg.org/o/r/releases.rss https://codeberg.org/o/r.rss"},
		{"https://medium.com/@me/post", "https://medium.com/feed/@me"}, {"https://me.medium.com/", "https://me.medium.com/feed"},
		{"https://x.substack.com/p/y", "https://x.substack.com/feed"}, {"https://music.substack.com/", "https://music.substack.com/feed"},
		{"https://www.m.tumblr.com/", "https://m.tumblr.com/rss"}, {"https://x.blogspot.com/", "https://x.blogspot.com/feeds/posts/default"},
		{"https://bsky.app/profile/a.b", "https://bsky.app/profile/a.b/rss"}, {"https://news.ycombinator.com/", "https://news.ycombinator.com/rss"},
		{"https://example.org/", ""}, {"ftp://github.com/owner", ""}, {"::", ""}, {"", ""},
	} {
		var got []string
		for _, f := range KnownFeeds(c.page) {
			got = append(got, f.URL)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %q, want %q", c.page, s, c.want)
		}
	}
}

func TestCommonPaths(t *testing.T) {
	got := CommonPaths("https://example.org/blog/?x#y")
	for _, want := range []string{"https://example.org/blog/feed", "https://example.org/feed", "https://example.org/rss", "https://example.org/atom.xml", "https://example.org/feed.json", "https://example.org/index.xml"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %v", want, got)
		}
	}
	if got[0] != "https://example.org/blog/feed" || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{"", "x", "mailto:a@b", fmt.Sprintf("http://[%s", "::")} {
		if got := CommonPaths(bad); got != nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}
