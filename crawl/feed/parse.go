package feed

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/json"
	"github.com/mmcdole/gofeed/rss"
)

// This is the only file that knows gofeed.

// parse gives a document that has passed the scanner to gofeed. It stops when ctx ends and contains panics.
func parse(ctx context.Context, format string, doc []byte) (src *source, err error) {
	defer func() {
		if p := recover(); p != nil {
			src, err = nil, fmt.Errorf("parser panicked: %v", p)
		}
	}()
	r := &deadlineReader{ctx: ctx, r: bytes.NewReader(doc)}
	switch format {
	case typeAtom:
		f, err := (&atom.Parser{}).Parse(r)
		if err != nil {
			return nil, err
		}
		return fromAtom(f), nil
	case typeJSON:
		f, err := (&json.Parser{}).Parse(r)
		if err != nil {
			return nil, err
		}
		return fromJSON(f), nil
	}
	f, err := (&rss.Parser{}).Parse(r)
	if err != nil {
		return nil, err
	}
	return fromRSS(f), nil
}

func fromRSS(f *rss.Feed) *source {
	src := &source{
		title: f.Title, link: f.Link, language: f.Language, skipHours: f.SkipHours, skipDays: f.SkipDays,
		interval: updateInterval(f.Extensions["sy"]),
	}
	dc := dublin(f.DublinCoreExt)
	if f.Image != nil {
		src.image = f.Image.URL
	}
	if f.ITunesExt != nil {
		src.image = cmp.Or(src.image, f.ITunesExt.Image)
	}
	src.title = cmp.Or(src.title, cmp.Or(dc.Title...))
	src.language = cmp.Or(src.language, cmp.Or(dc.Language...))
	src.link = cmp.Or(src.link, atomLink(f.Extensions, "alternate"))
	src.entries = make([]entry, len(f.Items))
	for i, it := range f.Items {
		fromRSSItem(&src.entries[i], it)
	}
	return src
}

func fromRSSItem(e *entry, it *rss.Item) {
	dc := dublin(it.DublinCoreExt)
	terms, media := it.Extensions["dcterms"], mediaOf(it.Extensions["media"])
	if it.GUID != nil {
		e.id = it.GUID.Value
		e.idIsLink = !strings.EqualFold(strings.TrimSpace(it.GUID.IsPermalink), "false")
	}
	e.link = it.Link
	for _, l := range it.Links {
		e.link = cmp.Or(e.link, l)
	}
	e.link = cmp.Or(e.link, atomLink(it.Extensions, "alternate"))
	e.title = it.Title
	if e.title == "" {
		e.title = cmp.Or(cmp.Or(dc.Title...), value(media, "title"))
	}
	itunes := it.ITunesExt
	if itunes == nil {
		itunes = &ext.ITunesItemExtension{}
	}
	e.summary = cmp.Or(it.Description, cmp.Or(dc.Description...), itunes.Summary, atomValue(it.Extensions, "summary"), value(media, "description"))
	e.content = cmp.Or(it.Content, it.Custom["encoded"], atomValue(it.Extensions, "content"))
	e.inline = e.content == "" && len(it.Extensions["xhtml"]) > 0
	e.authors = rssAuthors(it, dc, itunes)
	e.comments = it.Comments
	e.language = cmp.Or(dc.Language...)
	e.published = dates(it.PubDate, cmp.Or(dc.Date...), value(terms, "issued"), value(terms, "created"), value(terms, "available"), atomValue(it.Extensions, "published"), atomValue(it.Extensions, "issued"))
	e.updated = dates(value(terms, "modified"), atomValue(it.Extensions, "updated"), atomValue(it.Extensions, "modified"))
	for _, c := range it.Categories {
		e.categories = append(e.categories, c.Value)
	}
	e.categories = append(e.categories, dc.Subject...)
	for rest := itunes.Keywords; rest != "" && len(e.categories) <= maxDetails; {
		var word string
		if word, rest, _ = strings.Cut(rest, ","); strings.TrimSpace(word) != "" {
			e.categories = append(e.categories, word)
		}
	}
	for _, name := range atomNames {
		for _, c := range it.Extensions[name]["category"] {
			e.categories = append(e.categories, cmp.Or(c.Attrs["label"], c.Attrs["term"]))
		}
		for _, l := range it.Extensions[name]["link"] {
			if l.Attrs["rel"] == "enclosure" {
				e.enclose(l.Attrs["href"], l.Attrs["type"], l.Attrs["length"])
			}
		}
	}
	for _, c := range it.Enclosures {
		e.enclose(c.URL, c.Type, c.Length)
	}
	e.image, e.duration = itunes.Image, itunes.Duration
	e.fromMedia(media)
}

// fromMedia adds what Media RSS says.
func (e *entry) fromMedia(media map[string][]ext.Extension) {
	for _, c := range media["content"] {
		if kind := c.Attrs["type"]; c.Attrs["medium"] == "image" || strings.HasPrefix(kind, "image/") {
			e.image = cmp.Or(e.image, c.Attrs["url"])
		}
		e.duration = cmp.Or(e.duration, c.Attrs["duration"])
		e.enclose(c.Attrs["url"], c.Attrs["type"], c.Attrs["fileSize"])
	}
	for _, t := range media["thumbnail"] {
		e.image = cmp.Or(e.image, t.Attrs["url"])
	}
}

// mediaOf is the media extension with what stands in media:group beside what stands outside.
func mediaOf(media map[string][]ext.Extension) map[string][]ext.Extension {
	if len(media["group"]) == 0 {
		return media
	}
	all := map[string][]ext.Extension{}
	for name, list := range media {
		all[name] = append(all[name], list...)
	}
	for _, g := range media["group"] {
		for name, list := range g.Children {
			all[name] = append(all[name], list...)
		}
	}
	return all
}

func rssAuthors(it *rss.Item, dc *ext.DublinCoreExtension, itunes *ext.ITunesItemExtension) []string {
	switch {
	case it.Author != "":
		return []string{it.Author}
	case len(dc.Author) > 0:
		return dc.Author
	case len(dc.Creator) > 0:
		return dc.Creator
	case itunes.Author != "":
		return []string{itunes.Author}
	}
	for _, name := range atomNames {
		for _, a := range it.Extensions[name]["author"] {
			return []string{cmp.Or(value(a.Children, "name"), value(a.Children, "email"), a.Value)}
		}
	}
	return nil
}

func fromAtom(f *atom.Feed) *source {
	src := &source{
		title: f.Title, link: alternate(f.Links), image: cmp.Or(f.Logo, f.Icon), language: f.Language,
		authors: persons(f.Authors), interval: updateInterval(f.Extensions["sy"]),
	}
	src.entries = make([]entry, len(f.Entries))
	for i, it := range f.Entries {
		fromAtomEntry(&src.entries[i], it)
	}
	return src
}

func fromAtomEntry(e *entry, it *atom.Entry) {
	dc := it.Extensions["dc"]
	e.id, e.title, e.summary = it.ID, it.Title, it.Summary
	e.link = alternate(it.Links)
	if it.Content != nil {
		e.content = it.Content.Value
	}
	media := mediaOf(it.Extensions["media"])
	e.title = cmp.Or(e.title, value(media, "title"))
	e.summary = cmp.Or(e.summary, value(media, "description"))
	e.authors = persons(it.Authors)
	if len(e.authors) == 0 && value(dc, "creator") != "" {
		e.authors = []string{value(dc, "creator")}
	}
	if len(e.authors) == 0 && it.Source != nil {
		e.authors = persons(it.Source.Authors)
	}
	e.published = dates(it.Published, value(dc, "date"), value(it.Extensions["dcterms"], "issued"))
	e.updated = dates(it.Updated, value(it.Extensions["dcterms"], "modified"))
	for _, c := range it.Categories {
		e.categories = append(e.categories, cmp.Or(c.Label, c.Term))
	}
	for _, s := range it.Extensions["dc"]["subject"] {
		e.categories = append(e.categories, s.Value)
	}
	for _, l := range it.Links {
		switch l.Rel {
		case "enclosure":
			e.enclose(l.Href, l.Type, l.Length)
		case "replies":
			if l.Type == "" || strings.HasPrefix(l.Type, "text/html") {
				e.comments = cmp.Or(e.comments, l.Href)
			}
		}
	}
	e.image = value(it.Extensions["itunes"], "image")
	e.duration = value(it.Extensions["itunes"], "duration")
	e.fromMedia(media)
}

// alternate gives the link that a reader would follow: rel=alternate, preferably to HTML.
func alternate(links []*atom.Link) string {
	best := ""
	for _, l := range links {
		if l.Rel != "alternate" || l.Href == "" {
			continue
		}
		if l.Type == "" || strings.HasPrefix(l.Type, "text/html") || strings.HasPrefix(l.Type, "application/xhtml") {
			return trimBlanks(l.Href)
		}
		best = cmp.Or(best, trimBlanks(l.Href))
	}
	return best
}

func persons(list []*atom.Person) []string {
	var names []string
	for _, p := range list {
		if name := cmp.Or(p.Name, p.Email, p.URI); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func fromJSON(f *json.Feed) *source {
	src := &source{title: f.Title, link: f.HomePageURL, image: cmp.Or(f.Icon, f.Favicon), language: f.Language, authors: jsonAuthors(f.Author, f.Authors)}
	src.entries = make([]entry, len(f.Items))
	for i, it := range f.Items {
		if it != nil {
			fromJSONItem(&src.entries[i], it)
		}
	}
	return src
}

func fromJSONItem(e *entry, it *json.Item) {
	e.id, e.title, e.titleMode, e.summary = it.ID, it.Title, plain, it.Summary
	e.idIsLink = true
	e.link = cmp.Or(it.URL, it.ExternalURL)
	e.content = cmp.Or(it.ContentHTML, it.ContentText)
	e.image = cmp.Or(it.Image, it.BannerImage)
	e.language = it.Language
	e.published, e.updated = dates(it.DatePublished), dates(it.DateModified)
	e.categories = it.Tags
	e.authors = jsonAuthors(it.Author, it.Authors)
	if it.Attachments == nil {
		return
	}
	for _, a := range *it.Attachments {
		if a.DurationInSeconds > 0 {
			e.duration = cmp.Or(e.duration, strconv.FormatInt(a.DurationInSeconds, 10))
		}
		e.enclose(a.URL, a.MimeType, strconv.FormatInt(a.SizeInBytes, 10))
	}
}

func jsonAuthors(one *json.Author, list []*json.Author) []string {
	var names []string
	for _, a := range append(list, one) {
		if a != nil && a.Name != "" && (a != one || len(names) == 0) {
			names = append(names, a.Name)
		}
	}
	return names
}

// updateInterval is sy:updatePeriod divided by sy:updateFrequency (RSS 1.0 Syndication module): daily and 1 by default,
// if only one of them is there.
func updateInterval(sy map[string][]ext.Extension) time.Duration {
	period, frequency := value(sy, "updatePeriod"), value(sy, "updateFrequency")
	if period == "" && frequency == "" {
		return 0
	}
	hours := map[string]int{"hourly": 1, "": 24, "daily": 24, "weekly": 7 * 24, "monthly": 30 * 24, "yearly": 365 * 24}
	n, err := strconv.Atoi(strings.TrimSpace(frequency))
	if err != nil || n < 1 {
		n = 1
	}
	interval := time.Duration(hours[strings.ToLower(strings.TrimSpace(period))]) * time.Hour / time.Duration(n)
	return interval.Truncate(time.Second)
}

// atomNames are the names by which gofeed files Atom elements that stand in RSS: of the two namespaces, and prefixes that are
// not declared.
var atomNames = []string{"atom", "atom10", "atom03"}

func atomValue(e ext.Extensions, name string) string {
	for _, n := range atomNames {
		if v := value(e[n], name); v != "" {
			return v
		}
	}
	return ""
}

func atomLink(e ext.Extensions, rel string) string {
	for _, n := range atomNames {
		for _, l := range e[n]["link"] {
			if r := l.Attrs["rel"]; r == rel || r == "" {
				return l.Attrs["href"]
			}
		}
	}
	return ""
}

// value is the text of the first element of that name, or its href.
func value(e map[string][]ext.Extension, name string) string {
	if list := e[name]; len(list) > 0 {
		return cmp.Or(list[0].Value, list[0].Attrs["href"])
	}
	return ""
}

var noDublin ext.DublinCoreExtension

func dublin(dc *ext.DublinCoreExtension) *ext.DublinCoreExtension {
	if dc == nil {
		return &noDublin
	}
	return dc
}
