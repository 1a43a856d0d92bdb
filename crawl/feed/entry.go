package feed

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source is what gofeed read, before anything is made of it.
type source struct {
	title, link, image, language string
	authors                      []string      // of the items that name none
	interval                     time.Duration // of sy:updatePeriod and updateFrequency
	skipHours, skipDays          []string
	entries                      []entry
}

// entry is an item as gofeed read it.
type entry struct {
	id         string
	idIsLink   bool // it stands in for a missing link if it is an address
	link       string
	title      string
	titleMode  mode
	authors    []string
	summary    string
	content    string
	inline     bool // the content is XHTML, which is taken from the bytes of the item
	comments   string
	image      string
	language   string
	duration   string
	published  []string // dates, most telling first
	updated    []string
	categories []string
	enclosures []Enclosure
	enclosed   map[string]bool // their addresses
	spare      bool            // there were more than are kept
	base       string          // what its links are relative to, if it is not what the item's other addresses are
}

// deadlineReader ends the input when the context does.
type deadlineReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *deadlineReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p[:min(len(p), 64<<10)])
}

// enclose adds an attached file, each address once.
func (e *entry) enclose(address, kind, length string) {
	address = trimBlanks(address)
	if address == "" || e.enclosed[address] {
		return
	}
	if len(e.enclosures) >= maxDetails {
		e.spare = true
		return
	}
	if e.enclosed == nil {
		e.enclosed = map[string]bool{}
	}
	e.enclosed[address] = true
	n, _ := strconv.ParseInt(strings.TrimSpace(length), 10, 64)
	e.enclosures = append(e.enclosures, Enclosure{URL: address, Type: kind, Length: max(n, 0)})
}

// trimBlanks undoes what gofeed makes of blanks at the end of an Atom href.
func trimBlanks(href string) string {
	for strings.HasSuffix(href, "%20") {
		href = href[:len(href)-3]
	}
	return strings.TrimSpace(href)
}

// dates keeps what is not empty.
func dates(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}
