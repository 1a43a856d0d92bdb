package crawl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"crawl/state"
	"crawl/store"
)

// category is one category under way. Once feeds are being fetched only the collector touches it, but for what the
// dispatcher keeps there.
type category struct {
	store.Category
	header state.Header
	base   *state.Info // the complete snapshot that is being extended; nil for a new one
	loose  bool        // no snapshot: results are merged as they come (--feed, --failed, add)
	had    map[int64]bool
	ids    []int64 // the feeds of a loose one

	asked int  // feeds to be asked in this run
	shown bool // the dispatcher has announced it

	part    *state.Part
	total   int // feeds to be asked, and those that the part had already
	done    int // of these, with a line
	pending int // of these, without
	open    int // pending ones that will not get a line in this run: the category cannot be closed
	dirty   bool
}

// ensure opens the part on first use. What that begins with is in the database: where it has been damaged since it was read, the part begins
// with nothing.
func (c *category) ensure(s *session) error {
	if c.part != nil {
		return nil
	}
	part, err := s.dir.Part(c.header, c.base)
	damaged, err := s.contain(context.Background(), err)
	if damaged {
		part, err = s.dir.Part(c.header, nil)
	}
	if err != nil {
		return fmt.Errorf("open the snapshot of category %q: %w", c.Name, err)
	}
	c.part = part
	return nil
}

// write appends a feed's line. Without data it is a line that only says what became of the feed.
func (c *category) write(s *session, line state.Line) error {
	c.pending--
	c.done++
	if c.loose {
		return nil
	}
	if err := c.ensure(s); err != nil {
		return err
	}
	c.dirty = true
	if err := c.part.Append(line); err != nil {
		return fmt.Errorf("write the snapshot of category %q: %w", c.Name, err)
	}
	return nil
}

// complete tells whether every feed has its line.
func (c *category) complete() bool { return c.pending == 0 && c.open == 0 }

// secure makes what was written durable: closes the snapshot if it is complete (then the snapshot is returned), else syncs it.
func (c *category) secure(s *session) (*store.Snapshot, error) {
	if c.loose {
		return nil, nil
	}
	if !c.complete() {
		c.dirty = false
		return nil, c.part.Sync()
	}
	if err := c.ensure(s); err != nil {
		return nil, err
	}
	closing, err := c.part.Close(s.run, s.cfg.Now())
	if err != nil {
		return nil, fmt.Errorf("close the snapshot of category %q: %w", c.Name, err)
	}
	c.part, c.dirty = nil, false
	return &store.Snapshot{Host: s.dir.ID, Category: c.ID, Hour: closing.Hour, ID: closing.ID}, nil
}

// leave keeps the part for the next invocation.
func (c *category) leave() error {
	if c.part == nil {
		return nil
	}
	part := c.part
	c.part = nil
	return part.Leave()
}

// noteLine is the line of a feed that was left out: deferred by a cap, or left when its category was closed.
func noteLine(cand store.Candidate, outcome string) state.Line {
	data, _ := json.Marshal(struct { // a string and nothing else: cannot fail
		Outcome string `json:"outcome"`
	}{outcome})
	return state.Line{Feed: cand.ID, URL: cand.URL, Data: data}
}

// isNote tells whether a line is the note that its feed was left out with this outcome.
func isNote(line state.Line, outcome string) bool {
	return line.Token == 0 && bytes.Equal(line.Data, noteLine(store.Candidate{}, outcome).Data)
}
