// Package feed turns the bytes of a feed into items. It knows nothing of HTTP or databases.
//
// A document goes through steps: its characters become UTF-8, what stands before the feed is cut off, broken markup is
// mended, one scan cuts it into head and items and checks its structure, the items that Memory knows are left out, and
// gofeed parses what remains. The bytes are hostile: nothing reaches gofeed that the scan has not checked.
package feed

import (
	"encoding/binary"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Version is raised by every change of this package that could read a document differently; it is part of every hash.
const Version = 3

// Document is what was fetched and what is known of its feed.
type Document struct {
	Body        []byte
	ContentType string // the HTTP header, as received
	URL         string // the final URL
	Memory      []byte // the last Feed.Memory that was not nil; nil: read everything
	Rule        int    // the feed's identity rule so far; 0: none yet
}

// Feed is what a document says.
type Feed struct {
	Type     string // rss, atom, rdf, json
	Title    string // plain text
	SiteURL  string
	ImageURL string
	Language string
	Items    []Item   // the items that are new or changed against Memory, in document order, one a key
	Keys     []string // the keys of all items of the document in document order, one a key
	Rule     int      // identity rule now in force (never 0)
	Memory   []byte   // to be given back with the next document; opaque; nil: it is as it was
	Count    int      // items that the document holds, repeats included
	Whole    bool     // the whole document was parsed (nothing could be left out)
	Why      string   // why it was, "" if because all was new
	Partial  bool     // items are missing: the document was cut off or some could not be read
	Warnings []string // what was repaired, salvaged or ignored; each one short sentence without control characters
	Hints    Hints
}

// Hints is what the document says of its own schedule (rules T5, T7).
type Hints struct {
	Interval  time.Duration // the larger of ttl and sy:updatePeriod/updateFrequency; 0 none
	SkipHours []int         // 0–23 GMT
	SkipDays  []time.Weekday
}

// Item is one item. Empty fields are unknown.
type Item struct {
	Key         string // identity within the feed, derived by Rule
	GUID        string // what the source gave
	URL         string // absolute; http(s) but for rare tag:, magnet: … and never javascript:, data:, vbscript:, file:
	Title       string // plain text
	Author      string // plain text
	Summary     string // as it came
	Content     string // as it came
	CommentsURL string
	ImageURL    string
	Language    string
	Duration    int // seconds (iTunes)
	PublishedAt time.Time
	UpdatedAt   time.Time
	Categories  []string
	Enclosures  []Enclosure
	Hash        int64 // over all that the source says but its guid
}

// Enclosure is an attached file.
type Enclosure struct {
	URL    string `json:"url"`
	Type   string `json:"type,omitempty"`
	Length int64  `json:"length,omitempty"` // bytes
}

// BodyHash hashes a body together with what can change its meaning (final URL, content type, Version).
func BodyHash(d Document) int64 {
	h := xxhash.New()
	h.Write(d.Body)
	hashString(h, d.ContentType)
	hashString(h, d.URL)
	hashNumber(h, Version)
	return int64(h.Sum64())
}

func hashString(h *xxhash.Digest, s string) {
	hashNumber(h, int64(len(s)))
	h.WriteString(s)
}

func hashNumber(h *xxhash.Digest, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}
