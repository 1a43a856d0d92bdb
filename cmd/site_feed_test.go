package cmd

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const feedPath = "/feed"

// behaviour is how a feed's host answers.
type behaviour string

const (
	serves  behaviour = ""       // the document, or 304
	fails   behaviour = "fails"  // siteFeed.code
	hangs   behaviour = "hangs"  // never answers
	refuses behaviour = "refuse" // accepts no connection; for good
	resets  behaviour = "resets" // cuts the connection
	isHTML  behaviour = "html"   // a web page
	isEmpty behaviour = "empty"  // 200 and nothing
)

// siteFeed is one feed of a site. Fields may be changed within site.edit.
type siteFeed struct {
	category, title, format, url string

	behave     behaviour
	code       int           // with fails
	header     http.Header   // goes with every answer
	validators bool          // ETag and Last-Modified are sent and answered with 304
	gate       chan struct{} // holds answers back until it is closed; nil: open
	delay      time.Duration // before each answer
	items      []siteItem
	published  int // items ever
	version    int // raised by each change of items

	served map[string]siteItem // by identity: what whole answers have shown
	newest map[string]int      // the version that showed it
}

// siteItem is one item as its publisher means it.
type siteItem struct {
	guid, link, title, text string
	published               time.Time
}

// identity is what makes it the same item the next time: guid, else link, else title and text.
func (i siteItem) identity() string {
	switch {
	case i.guid != "":
		return "guid " + i.guid
	case i.link != "":
		return "link " + i.link
	}
	return "text " + i.title + "\x00" + i.text
}

var formats = []string{"rss", "atom", "rdf", "json"}

// add adds a feed with so many items. Its format follows its number; every seventh item has no guid, every 14th neither guid nor link.
func (s *site) add(category string, items int) *siteFeed {
	s.t.Helper()
	return s.addAt(s.listen(), category, items)
}

// addRefusing adds a feed whose host refuses connections.
func (s *site) addRefusing(category string) *siteFeed {
	s.t.Helper()
	f := s.addAt(s.refuse(), category, 0)
	f.behave = refuses
	return f
}

func (s *site) addAt(authority, category string, items int) *siteFeed {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := len(s.feeds)
	f := &siteFeed{
		category: category, title: fmt.Sprintf("Feed %d", number), format: formats[number%len(formats)],
		url: "http://" + authority + feedPath, validators: number%3 != 2, version: 1,
		served: map[string]siteItem{}, newest: map[string]int{},
	}
	for range items {
		f.publish()
	}
	f.version = 1
	s.feeds = append(s.feeds, f)
	s.byHost[authority] = f
	return f
}

// publish puts one more item at the top of the feed and returns it.
func (f *siteFeed) publish() siteItem {
	number := f.published
	f.published++
	i := siteItem{
		guid:      fmt.Sprintf("tag:%s,%d", f.title, number),
		link:      fmt.Sprintf("https://www.example.org/%s/%d", f.format, number),
		title:     fmt.Sprintf("%s item %d", f.title, number),
		text:      fmt.Sprintf("What item %d of %s has to say.", number, f.title),
		published: time.Date(2026, 11, 1, 0, number, 0, 0, time.UTC),
	}
	if number%7 == 3 {
		i.guid = ""
	}
	if number%14 == 3 {
		i.link = ""
	}
	f.items = append([]siteItem{i}, f.items...)
	f.version++
	return i
}

// retitle gives an item, by its place in the document, another title. The item must have a guid or link to stay the same.
func (f *siteFeed) retitle(place int, title string) {
	f.items = append([]siteItem(nil), f.items...)
	f.items[place].title = title
	f.version++
}

// rewrite gives an item, by its place in the document, another text.
func (f *siteFeed) rewrite(place int, text string) {
	f.items = append([]siteItem(nil), f.items...)
	f.items[place].text = text
	f.version++
}

// answer is one response, fixed when the request came in.
type answer struct {
	behave  behaviour
	status  int
	header  http.Header
	body    string
	items   []siteItem
	version int
}

func (f *siteFeed) answer(r *http.Request) answer {
	a := answer{behave: f.behave, status: http.StatusOK, header: f.header.Clone(), version: f.version}
	if a.header == nil {
		a.header = http.Header{}
	}
	switch f.behave {
	case fails:
		a.status = f.code
		return a
	case isHTML:
		a.header.Set("Content-Type", "text/html")
		a.body = "<!DOCTYPE html><html><head><title>Please log in</title></head><body><p>Welcome</p></body></html>"
		return a
	case serves:
	default:
		return a
	}
	if f.validators {
		etag, modified := f.validatorValues()
		a.header.Set("ETag", etag)
		a.header.Set("Last-Modified", modified)
		if r.Header.Get("If-None-Match") == etag {
			a.status = http.StatusNotModified
			return a
		}
	}
	a.header.Set("Content-Type", contentTypes[f.format])
	a.body, a.items = f.document(), f.items
	return a
}

func (f *siteFeed) validatorValues() (etag, modified string) {
	at := time.Date(2026, 11, 2, 0, f.version, 0, 0, time.UTC)
	return fmt.Sprintf(`"v%d"`, f.version), at.Format(http.TimeFormat)
}

// remember takes down what a whole answer has shown. Of two answers that cross, the newer document counts.
func (f *siteFeed) remember(a answer) {
	for _, i := range a.items {
		id := i.identity()
		if a.version >= f.newest[id] {
			f.served[id], f.newest[id] = i, a.version
		}
	}
}

// opml writes a subscription list of these feeds (none given: all) to a file and returns its path.
func (s *site) opml(feeds ...*siteFeed) string {
	s.t.Helper()
	type outline struct {
		Text     string     `xml:"text,attr"`
		Type     string     `xml:"type,attr,omitempty"`
		XMLURL   string     `xml:"xmlUrl,attr,omitempty"`
		Outlines []*outline `xml:"outline"`
	}
	if feeds == nil {
		feeds = s.feeds
	}
	var list struct {
		XMLName  xml.Name   `xml:"opml"`
		Version  string     `xml:"version,attr"`
		Outlines []*outline `xml:"body>outline"`
	}
	list.Version = "2.0"
	folders := map[string]*outline{}
	for _, f := range feeds {
		folder := folders[f.category]
		if folder == nil {
			folder = &outline{Text: f.category}
			folders[f.category] = folder
			list.Outlines = append(list.Outlines, folder)
		}
		folder.Outlines = append(folder.Outlines, &outline{Text: f.title, Type: "rss", XMLURL: f.url})
	}
	text, err := xml.Marshal(list)
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), "feeds.opml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}
