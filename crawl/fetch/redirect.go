package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"

	"golang.org/x/net/publicsuffix"
)

// maxHops is the most redirects that are followed (rule R1).
const maxHops = 5

// redirects says whether a status is one of the redirects that are followed, with GET (rule R3).
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// chain is what a GET has been through.
type chain struct {
	hops []Hop
	seen []string // URL and cookies of each request: the same twice would get the same answer
}

// permanentURL is the chain's end if each hop said that it holds for good, else "".
func (c *chain) permanentURL() string {
	for _, h := range c.hops {
		if h.Status != http.StatusMovedPermanently && h.Status != http.StatusPermanentRedirect {
			return ""
		}
	}
	if len(c.hops) == 0 {
		return ""
	}
	return c.hops[len(c.hops)-1].To
}

// follow sends the request and goes where redirects lead.
func (g *get) follow() (*Response, error) {
	for {
		answer, err := g.send()
		if err != nil {
			return nil, err
		}
		location := answer.Header.Get("Location")
		if !redirects(answer.StatusCode) || location == "" {
			defer answer.Body.Close()
			return g.finish(answer)
		}
		answer.Body.Close()
		from := g.url.Host
		if err := g.turn(answer, location); err != nil {
			return nil, err
		}
		if g.r.Turns && g.url.Host != from {
			return nil, &Onward{Host: g.url.Host, AllowedNet: g.gotAllowed, get: g}
		}
	}
}

// Onward is the error of a GET that a redirect has led to another host: it holds nothing, and its time stands still, until its caller
// has seen to its turn there and lets it go on.
type Onward struct {
	Host       string // where it goes on, as Host gives it
	AllowedNet bool   // the redirect came from a network of AllowNet (not from a public address)
	get        *get
}

func (o *Onward) Error() string { return "a redirect leads to " + o.Host }

// Get goes on, with the rest of the GET's time, as Client.Get does, and may give an *Onward again. It may be called once. before is
// Request.Before from now on. An *Error is Answered if an answer came since.
func (o *Onward) Get(ctx context.Context, before func() error) (*Response, error) {
	o.get.r.Before = before
	return o.get.run(ctx)
}

// turn moves the GET to where a redirect points, or says why not.
func (g *get) turn(answer *http.Response, location string) error {
	if len(g.chain.hops) == maxHops {
		return g.fail(KindHTTP, fmt.Sprintf("more than %d redirects", maxHops), nil)
	}
	to, err := resolve(g.url, location)
	if err != nil {
		return g.fail(KindHTTP, "redirects to what cannot be read: "+unreadable(err).Error(), nil)
	}
	if err = canonical(to); err == nil {
		err = g.c.guard.checkURL(to)
	}
	if err != nil {
		return g.fail(KindAddress, "redirects to where nothing is fetched: "+err.Error(), err)
	}
	if len(g.chain.seen) == 0 {
		g.chain.seen = append(g.chain.seen, g.at+"\n")
	}
	g.cookies.set(g.url, answer)
	next := to.String()
	key := next + "\n" + g.cookies.header(to)
	if slices.Contains(g.chain.seen, key) {
		return g.fail(KindHTTP, "redirects in a circle", nil)
	}
	g.chain.seen = append(g.chain.seen, key)
	g.chain.hops = append(g.chain.hops, Hop{Status: answer.StatusCode, From: g.at, To: next})
	g.url, g.at = to, next
	return nil
}

// resolve reads a Location: relative to the hop's URL, with spaces, a fragment, a user (rule R6).
func resolve(base *url.URL, location string) (*url.URL, error) {
	u, err := url.Parse(escape(location))
	if err != nil {
		return nil, err
	}
	return base.ResolveReference(u), nil
}

// The most that is kept of one chain's cookies (RFC 6265, 6.1, asks for as much of a host's), and the bytes of one.
const (
	maxCookies = 50
	maxCookie  = 4 << 10
)

// cookies are those of one chain: some sites answer only whom they see come back with one. They are in memory only and end
// with the chain (rule R5).
type cookies struct {
	jar *cookiejar.Jar
	n   int // that were set
}

// set keeps the cookies of an answer.
func (c *cookies) set(u *url.URL, answer *http.Response) {
	if len(answer.Header["Set-Cookie"]) == 0 {
		return
	}
	if c.jar == nil {
		c.jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // never fails
	}
	for _, cookie := range answer.Cookies() {
		if len(cookie.Raw) <= maxCookie && c.n < maxCookies {
			c.n++
			c.jar.SetCookies(u, []*http.Cookie{cookie})
		}
	}
}

// header is the Cookie field for a URL, "" for none.
func (c *cookies) header(u *url.URL) string {
	if c.jar == nil {
		return ""
	}
	r := http.Request{Header: http.Header{}}
	for _, cookie := range c.jar.Cookies(u) {
		r.AddCookie(cookie)
	}
	return r.Header.Get("Cookie")
}
