package crawl

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// AddOptions are the flags of `crawl add`.
type AddOptions struct {
	Category, Title string
	NoFetch         bool
}

// AddResult is what became of one address.
type AddResult struct {
	ID         int64
	URL        string // what is stored
	Found      string // how: "" the address itself is the feed, else "link", "rule", "refresh", "path"
	Title      string
	Already    bool
	Stopped    string // why it is stopped, "" if it is not
	Category   string
	Items      int
	Candidates []Candidate // more than one was found: nothing was stored
}

// Candidate is a feed that was found.
type Candidate = feed.Candidate

// Add finds the feed of an address, fetches it once, and stores it and its items. Only here is a page looked through for
// feeds: never in a run.
func Add(ctx context.Context, cfg Config, address string, o AddOptions) (AddResult, error) {
	url, user, password, err := fetch.Normalize(address)
	if err != nil {
		return AddResult{}, err
	}
	client, err := fetch.New(cfg.Fetch)
	if err != nil {
		return AddResult{}, err
	}
	defer client.Close()
	if err := client.CheckURL(url); err != nil {
		return AddResult{}, err
	}
	dir, db, err := OpenStore(ctx, cfg)
	if err != nil {
		return AddResult{}, err
	}
	defer db.Close()
	a := &adding{
		session: session{cfg: cfg, kind: "add", start: cfg.Now(), hour: cfg.hour(), dir: dir, store: db, client: client},
		options: o, typed: url, settings: store.FeedSettings{User: user, Password: password},
	}
	if r, err := a.already(ctx, url, ""); !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	if o.NoFetch {
		return a.keep(ctx, hit{url: url})
	}
	return a.find(ctx, url)
}

// adding is one `crawl add` at work.
type adding struct {
	session
	options  AddOptions
	typed    string             // the address that a person gave
	settings store.FeedSettings // what belongs to that address
}

// settingsFor are the credentials for an address: those that were typed, for the scheme, host and port they were typed with, and none
// for wherever a page or a redirect leads.
func (a *adding) settingsFor(address string) store.FeedSettings {
	if !sameOrigin(a.typed, address) {
		return store.FeedSettings{}
	}
	return a.settings
}

func sameOrigin(a, b string) bool {
	x, err := url.Parse(a)
	y, err2 := url.Parse(b)
	return err == nil && err2 == nil && x.Scheme == y.Scheme && x.Host == y.Host
}

// hit is an address that was asked, and the feed that answered, if one did.
type hit struct {
	url   string
	found string
	resp  *fetch.Response
	doc   *feed.Feed
}

// find asks the address itself, then the feeds that its page names, or where the page leads names, then the common paths. Sites whose rule is known are asked
// by the rule first.
func (a *adding) find(ctx context.Context, url string) (AddResult, error) {
	if known := feed.KnownFeeds(url); len(known) > 0 {
		var fetched *fetch.Error
		var unread *feed.Error
		r, err := a.oneOf(ctx, known, "rule")
		if !errors.As(err, &fetched) && !errors.As(err, &unread) { // else the rule is wrong for this page
			return r, err
		}
	}
	resp, doc, err := a.ask(ctx, url)
	if err == nil {
		return a.keep(ctx, hit{url: url, resp: resp, doc: doc})
	}
	defer resp.Release()
	if resp == nil || !isPage(err) {
		return AddResult{}, err
	}
	page := feed.Discover(resp.Body, resp.URL)
	if named := stored(page.Feeds); len(named) > 0 {
		return a.oneOf(ctx, named, "link")
	}
	paths := feed.CommonPaths(resp.URL)
	for _, to := range stored([]Candidate{{URL: page.Refresh}}) { // once: a page there leads no further (HTTP.md R7)
		if r, err := a.already(ctx, to.URL, "refresh"); !errors.Is(err, store.ErrNotFound) {
			return r, err
		}
		next, doc, there := a.ask(ctx, to.URL)
		if there == nil {
			return a.keep(ctx, hit{url: to.URL, found: "refresh", resp: next, doc: doc})
		}
		defer next.Release()
		if next != nil && isPage(there) {
			if named := stored(feed.Discover(next.Body, next.URL).Feeds); len(named) > 0 {
				return a.oneOf(ctx, named, "refresh")
			}
			paths = append(feed.CommonPaths(next.URL), paths...)
		}
		err = fmt.Errorf("the page leads to %s: %w", fetch.Redact(to.URL), there)
	}
	asked, closed := map[string]bool{}, map[string]bool{} // addresses, and hosts
	for _, path := range paths {
		host := fetch.Host(path)
		if asked[path] || closed[host] {
			continue
		}
		asked[path] = true
		if r, err := a.already(ctx, path, "path"); !errors.Is(err, store.ErrNotFound) {
			return r, err
		}
		resp, doc, err := a.ask(ctx, path)
		if err == nil {
			return a.keep(ctx, hit{url: path, found: "path", resp: resp, doc: doc})
		}
		closed[host] = noMore(resp, err)
		resp.Release()
	}
	return AddResult{}, fmt.Errorf("no feed found at %s: %w", fetch.Redact(url), err)
}

// noMore reports whether a host should be spared further guesses: it says nothing, or wants quiet.
func noMore(resp *fetch.Response, err error) bool {
	if resp != nil {
		return resp.RetryAfter > 0 || resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	}
	var e *fetch.Error
	return errors.As(err, &e) && !e.Answered
}

// stored gives what a page names as it would be stored, each once: without user and password, which would be a stranger's.
func stored(named []Candidate) (list []Candidate) {
	for _, c := range named {
		var err error
		if c.URL, _, _, err = fetch.Normalize(c.URL); err != nil || c.URL == "" {
			continue
		}
		if !slices.ContainsFunc(list, func(have Candidate) bool { return have.URL == c.URL }) {
			list = append(list, c)
		}
	}
	return list
}

// isPage reports whether what was read is no feed, so perhaps a page that names one.
func isPage(err error) bool {
	var e *feed.Error
	return errors.As(err, &e) && e.Kind == feed.KindNotAFeed
}

// oneOf adds the single feed that was found; of several a person must choose.
func (a *adding) oneOf(ctx context.Context, list []feed.Candidate, how string) (AddResult, error) {
	if len(list) > 1 {
		return AddResult{Found: how, Candidates: list}, nil
	}
	url := list[0].URL
	if r, err := a.already(ctx, url, how); !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	resp, doc, err := a.ask(ctx, url)
	if err != nil {
		resp.Release()
		return AddResult{}, fmt.Errorf("the feed that %s names: %w", fetch.Redact(url), err)
	}
	return a.keep(ctx, hit{url: url, found: how, resp: resp, doc: doc})
}

// already is the result where the feed is there, by its address or id; store.ErrNotFound where it is not.
func (a *adding) already(ctx context.Context, ref, found string) (AddResult, error) {
	f, err := a.session.store.FindFeed(ctx, ref)
	if err != nil {
		return AddResult{}, err
	}
	r := AddResult{ID: f.ID, URL: f.URL, Found: found, Title: f.Title, Category: f.Category, Already: true, Items: f.Items}
	if f.Status == "stopped" {
		r.Stopped = cmp.Or(f.StoppedReason, "no reason is known")
	}
	return r, nil
}

// ask makes one GET and reads the answer. The response is given even when its body is no feed.
func (a *adding) ask(ctx context.Context, url string) (*fetch.Response, *feed.Feed, error) {
	if err := a.client.CheckURL(url); err != nil {
		return nil, nil, err
	}
	own := a.settingsFor(url)
	resp, err := a.client.Get(ctx, fetch.Request{URL: url, User: own.User, Password: own.Password})
	if err != nil {
		return nil, nil, err
	}
	if failure := resp.Failure(); failure != nil {
		return resp, nil, failure
	}
	doc, err := read(ctx, feed.Document{Body: resp.Body, ContentType: resp.ContentType, URL: resp.URL}, url)
	return resp, doc, err
}

// keep stores the feed, and under a lease of its own what was fetched: the request that found it is its first fetch.
func (a *adding) keep(ctx context.Context, h hit) (AddResult, error) {
	defer h.resp.Release()
	url := h.url
	if h.resp != nil && h.resp.PermanentURL != "" {
		url = h.resp.PermanentURL
	}
	db := a.session.store
	added, err := db.AddFeeds(ctx, []store.NewFeed{{
		URL: url, Title: a.options.Title, Category: a.options.Category, Settings: a.settingsFor(url),
	}}, a.start)
	if err != nil {
		return AddResult{}, err
	}
	if !added[0].New { // a redirect for good leads to it, or another process was first
		return a.already(ctx, strconv.FormatInt(added[0].ID, 10), h.found)
	}
	r := AddResult{ID: added[0].ID, URL: url, Found: h.found, Title: a.options.Title, Category: added[0].Category}
	if h.doc == nil {
		return r, nil
	}
	if r.Title == "" {
		r.Title = h.doc.Title
	}
	r.Items, err = a.mergeFirst(ctx, r.ID, h)
	return r, err
}

func (a *adding) mergeFirst(ctx context.Context, id int64, h hit) (int, error) {
	db := a.session.store
	// Not an owner of the form that belongs to a run: a run that starts meanwhile must not clear this lease as a dead one's.
	lease := store.Lease{Owner: a.dir.ID + "+add/" + rand.Text(), Boot: state.Boot(), Until: a.start.Add(leaseTime)}
	due := store.Due{Hour: a.hour, Now: a.start, MaxLease: maxLease, Force: true}
	claims, err := db.Claim(ctx, []int64{id}, lease, due)
	if err != nil || len(claims) == 0 {
		return 0, err // a run was first: it stores the items
	}
	c := &claims[0]
	o := &observation{claim: c, resp: h.resp, doc: h.doc, at: a.cfg.Now(), hour: a.hour}
	o.body = feed.BodyHash(feed.Document{Body: h.resp.Body, ContentType: h.resp.ContentType, URL: h.resp.URL})
	entry := store.Entry{FeedID: id, URL: c.URL, Token: c.Token, Result: a.cfg.Settings.outcome(o)}
	m, err := db.Merge(context.WithoutCancel(ctx), 0, []store.Entry{entry}, nil, a.cfg.Now())
	if err == nil && len(m.Failed) > 0 {
		err = m.Failed[0].Err
	}
	return m.New, err
}
