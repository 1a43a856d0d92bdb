package feed

// Candidate is a feed that a page names.
type Candidate struct {
	URL, Title, Type string
}

// Discover finds the feeds that an HTML page names by <link rel=alternate>, absolute, in page order.
func Discover(page []byte, pageURL string) []Candidate { return nil }

// KnownFeeds gives the feed addresses that follow by rule from a site's page address (YouTube, Reddit, Mastodon, GitHub …).
func KnownFeeds(pageURL string) []Candidate { return nil }

// CommonPaths gives the addresses worth a try on any site, most likely first.
func CommonPaths(pageURL string) []string { return nil }
