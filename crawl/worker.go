package crawl

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// errNotSent keeps a request from going out: the run is ending, the lease has passed, or the domain asked for quiet.
var errNotSent = errors.New("not sent")

// fetch makes one claimed task's request or goes on with it, reads the answer, and works out what it means. It never fails: each feed
// fails alone.
func (p *pool) fetch(ctx context.Context, t *task, c *store.Claim) *finished {
	f := &finished{task: t, claim: c}
	f.event = event{
		start: p.s.cfg.Now(), failures: c.ConsecutiveFailures, worked: !c.LastSuccessAt.IsZero(),
		again: p.heard && !c.PreviousAttemptAt.Before(p.s.hour),
	}
	if t.onward != nil {
		f.event.led = t.onward.led
	} else if p.excluded(t, c, f.event.start) {
		f.what = deferred
		return f
	}
	hush := false
	resp, err := p.get(ctx, t, c, func() error {
		hush = f.reqs == 0 && p.quiet.any() && p.quiet.has(t.asks())
		if ctx.Err() != nil || !p.leases.valid() || hush {
			return errNotSent
		}
		f.reqs++
		return nil
	})
	defer func() {
		if !f.abandoned {
			resp.Release()
		}
	}()
	at := p.s.cfg.Now()
	var next *fetch.Onward
	switch {
	case hush:
		f.what = deferred
	case err != nil && (ctx.Err() != nil || errors.Is(err, errNotSent)):
		if f.what = unsent; f.reqs > 0 {
			f.what = cut
		}
	case errors.As(err, &next):
		p.s.cfg.point("moved")
		f.what, f.onward = moved, &onward{c, next, at}
		f.event.domain, f.event.answered, f.event.allowed, f.event.end = t.asks(), true, next.AllowedNet, at
	default:
		p.finish(ctx, f, resp, err, at)
	}
	return f
}

// get begins a task's GET, or goes on with it.
func (p *pool) get(ctx context.Context, t *task, c *store.Claim, before func() error) (*fetch.Response, error) {
	if t.onward != nil {
		return t.onward.get.Get(ctx, before)
	}
	req := p.s.request(c)
	req.Before, req.Turns = before, true
	return p.s.client.Get(ctx, req)
}

// excluded tells whether the feed's document asks not to be fetched at this time (rule T7). Who forces it or names it, or adds or
// resumes it, wants it now.
func (p *pool) excluded(t *task, c *store.Claim, now time.Time) bool {
	wanted := t.cat.loose || !p.s.forced.IsZero() || c.NextFetchAt.IsZero()
	return !wanted && unpackHints(c.Schedule).exclude(now)
}

// finish reads the answer and works out the outcome.
func (p *pool) finish(ctx context.Context, f *finished, resp *fetch.Response, err error, at time.Time) {
	p.s.cfg.point("fetched")
	o := &observation{claim: f.claim, resp: resp, err: err, at: at, hour: p.s.hour}
	if err == nil {
		if failure := resp.Failure(); failure != nil {
			o.err = failure
		} else if resp.Status != http.StatusNotModified {
			select {
			case p.parsing <- struct{}{}:
				defer func() { <-p.parsing }()
				f.abandoned = p.read(ctx, o)
			case <-p.over:
				f.what = cut
				return
			}
		}
		p.recall(ctx, o)
	}
	if f.abandoned && o.err == nil {
		f.what = cut
		return
	}
	if o.doc != nil && o.doc.Whole {
		f.whole = o.doc.Why
	}
	f.result = p.s.cfg.Settings.outcome(o)
	f.event = describeEvent(f.event, o)
	f.event.domain = f.task.asks() // many feeds may lead to a host that is dead
	if f.event.notAFeed {
		f.event.domain = f.task.registrable() // a portal leads all to its own
	}
	if resp != nil && resp.Status == http.StatusTooManyRequests {
		// Where a redirect led elsewhere, neither domain's feeds are meant: anybody can redirect to a page that answers so.
		if domain := fetch.Domain(resp.URL); domain == f.task.registrable() {
			p.quiet.add(domain)
		}
	}
	if !f.task.cat.loose {
		f.data = p.encode(f, o)
	}
	p.room.enter(f)
}

// encode gives the result as its snapshot line carries it. A document that makes a line longer than a snapshot takes is
// the feed's own failure.
func (p *pool) encode(f *finished, o *observation) []byte {
	data := encodeJSON(&f.result)
	if len(data) > maxLine {
		o.doc, o.err = nil, &feed.Error{Kind: feed.KindTooLarge, Text: "the document's items are larger than a snapshot can hold"}
		f.result = p.s.cfg.Settings.outcome(o)
		data = encodeJSON(&f.result)
	}
	return data
}

// maxLine leaves room for the rest of a line below what state takes, in bytes.
const maxLine = state.MaxLine - 1<<20

// request is the conditional GET for a feed.
func (s *session) request(c *store.Claim) fetch.Request {
	r := fetch.Request{
		URL: c.URL, User: c.Settings.User, Password: c.Settings.Password, Header: c.Settings.Header,
		UserAgent: c.Settings.UserAgent, Proxy: c.Settings.Proxy, Insecure: c.Settings.Insecure,
	}
	if !s.options.Refetch {
		r.ETag, r.LastModified, r.ValidatorsURL, r.LastSuccess = c.ETag, c.LastModified, c.ValidatorsURL, c.LastSuccessAt
	}
	return r
}

// read reads a body; the caller sees to it that no more do so at once than there are cores. The same body as last time is not parsed.
// It tells whether the reading was abandoned.
func (p *pool) read(ctx context.Context, o *observation) (abandoned bool) {
	d := feed.Document{Body: o.resp.Body, ContentType: o.resp.ContentType, URL: o.resp.URL, Rule: o.claim.KeyRule}
	if o.resp.Truncated == "" {
		o.body = feed.BodyHash(d)
		if o.claim.BodyHash != 0 && o.body == o.claim.BodyHash {
			return false
		}
	}
	d.Memory = p.memory(ctx, o.claim)
	r := readWithin(p.over, func() (*feed.Feed, error) { return read(context.WithoutCancel(ctx), d, o.claim.URL) })
	o.doc, o.err = r.doc, r.err
	if cut := o.resp.Truncated; cut != "" && (o.err != nil || o.doc != nil && o.doc.Count == 0) {
		o.doc, o.err = nil, &feed.Error{Kind: feed.Kind(o.resp.TruncatedKind), Text: "the document did not arrive whole: " + cut}
	}
	return r.abandoned
}

// recall finds the order that a ranked feed still has when it sends no whole new document.
func (p *pool) recall(ctx context.Context, o *observation) {
	if o.claim.Ranked && o.err == nil && (o.doc == nil || o.resp.Truncated != "") {
		o.last = feed.Keys(p.memory(ctx, o.claim))
	}
}

// memory is what the reader keeps of a feed's last document. Where it cannot be had everything is read anew: slower, and right.
func (p *pool) memory(ctx context.Context, c *store.Claim) []byte {
	if c.BodyHash == 0 { // there is none
		return nil
	}
	m, err := p.s.store.Document(context.WithoutCancel(ctx), c.ID)
	if err != nil {
		p.s.cfg.Log.Info("a feed's last document cannot be recalled", slog.Int64("feed", c.ID), slog.Any("error", err))
		return nil
	}
	return m
}
