package crawl

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

// Checked is what `crawl check` prints.
type Checked struct {
	URL      string // final
	Status   int
	Type     string
	Title    string
	SiteURL  string
	Hops     []fetch.Hop
	Items    []store.Item
	Count    int
	Warnings []string
	Whole    string        // why the document has to be parsed whole each time; "" if it can be cut
	Next     time.Duration // when a run would come back, at the earliest
	ETag     string
	LastMod  string
	Bytes    int64
}

// Check fetches (or, for a local path, reads) and reads one document; it stores nothing. What was learnt before an error is in
// the result.
func Check(ctx context.Context, cfg Config, address string) (Checked, error) {
	if !strings.Contains(address, "://") {
		if _, err := os.Stat(address); err == nil {
			return checkFile(ctx, cfg, address)
		}
	}
	url, user, password, err := fetch.Normalize(address)
	if err != nil {
		return Checked{}, err
	}
	client, err := fetch.New(cfg.Fetch)
	if err != nil {
		return Checked{}, err
	}
	defer client.Close()
	if err := client.CheckURL(url); err != nil {
		return Checked{}, err
	}
	resp, err := client.Get(ctx, fetch.Request{URL: url, User: user, Password: password})
	if err != nil {
		return Checked{URL: url}, err
	}
	defer resp.Release()
	c := Checked{
		URL: resp.URL, Status: resp.Status, Hops: resp.Hops, ETag: resp.ETag, LastMod: resp.LastModified, Bytes: resp.Bytes,
	}
	if failure := resp.Failure(); failure != nil {
		return c, failure
	}
	if resp.Truncated != "" {
		c.Warnings = append(c.Warnings, "the document did not arrive whole: "+resp.Truncated)
	}
	return c, c.read(ctx, cfg, resp, url)
}

func checkFile(ctx context.Context, cfg Config, path string) (Checked, error) {
	f, err := os.Open(path)
	if err != nil {
		return Checked{}, err
	}
	defer f.Close()
	limit := cfg.Fetch.MaxBody
	if limit <= 0 {
		limit = fetch.DefaultMaxBody
	}
	body, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return Checked{}, err
	}
	c := Checked{Bytes: int64(len(body))}
	return c, c.read(ctx, cfg, &fetch.Response{Status: http.StatusOK, Body: body}, "")
}

// read fills in what the document says.
func (c *Checked) read(ctx context.Context, cfg Config, resp *fetch.Response, asked string) error {
	d, err := read(ctx, feed.Document{Body: resp.Body, ContentType: resp.ContentType, URL: resp.URL}, asked)
	if err != nil {
		return err
	}
	c.Type, c.Title, c.SiteURL, c.Count = d.Type, d.Title, d.SiteURL, d.Count
	c.Warnings = append(c.Warnings, d.Warnings...)
	if d.Whole {
		c.Whole = d.Why
	}
	c.Items = itemsOf(d.Items)
	now := cfg.Now()
	next := cfg.Settings.next(now, &store.Claim{}, resp.Fresh, 0, packHints(d.Hints))
	c.Next = next.Sub(now)
	return nil
}
