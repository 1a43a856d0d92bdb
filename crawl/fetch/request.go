package fetch

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is one conditional GET. Empty fields are not sent.
type Request struct {
	URL           string
	ETag          string // byte for byte as received
	LastModified  string
	ValidatorsURL string // the final URL that gave them; they are sent only on the hop with this URL. "" means URL
	User          string
	Password      string
	Header        map[string]string // sent, like User and Password, to the scheme, host and port of URL alone
	UserAgent     string            // instead of the client's
	Proxy         string            // instead of the client's
	Insecure      bool              // do not verify TLS, for this request alone
	// Before is called right before the first byte goes out (and before each further hop). An error keeps the request
	// from being sent (a lost lease) and is returned wrapped by Get.
	Before func() error
}

// What every request says (rules Q3, Q4). The slices are shared by all requests and never written to.
var (
	acceptValue = []string{"application/atom+xml, application/rss+xml, application/feed+json, " +
		"application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1"}
	acceptEncodingValue = []string{"gzip, br, zstd"}
)

// reserved are the fields that Request.Header cannot set: they belong to this package or to the connection.
var reserved = map[string]bool{
	"Host": true, "Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Content-Length": true,
	"Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true, "Range": true, "If-Range": true,
	"If-None-Match": true, "If-Modified-Since": true, "If-Match": true, "If-Unmodified-Since": true,
	"Referer": true, "Accept": true, "Accept-Encoding": true,
}

// CheckHeader says by name why a field cannot be sent as a feed's own header; nil if it can. The value is never named.
func CheckHeader(name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not the name of a header field", name)
	case reserved[textproto.CanonicalMIMEHeaderKey(name)]:
		return fmt.Errorf("the header field %s cannot be set", textproto.CanonicalMIMEHeaderKey(name))
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of the header field %s has characters that cannot be sent", name)
	}
	return nil
}

// check refuses what could not be sent, before anything is.
func (r *Request) check() error {
	for name, value := range r.Header {
		if err := CheckHeader(name, value); err != nil {
			return err
		}
	}
	if !httpguts.ValidHeaderFieldValue(r.UserAgent) {
		return fmt.Errorf("the user agent has characters that cannot be sent")
	}
	return nil
}

// header builds the header of the hop that g is at.
func (g *get) header() http.Header {
	h := make(http.Header, 8)
	h["Accept"] = acceptValue
	h["Accept-Encoding"] = acceptEncodingValue
	h["User-Agent"] = g.c.userAgent
	if g.r.UserAgent != "" {
		h["User-Agent"] = []string{g.r.UserAgent}
	}
	if sameOrigin(g.url, g.first) {
		g.own(h)
	}
	if cookie := g.cookies.header(g.url); cookie != "" {
		if configured := h.Get("Cookie"); configured != "" {
			cookie = configured + "; " + cookie
		}
		h["Cookie"] = []string{cookie}
	}
	g.conditional = false
	if g.at == g.validatorsURL {
		g.validators(h)
	}
	return h
}

// own adds what the feed has configured for its own origin (rule Q5).
func (g *get) own(h http.Header) {
	if g.r.User != "" || g.r.Password != "" {
		token := base64.StdEncoding.EncodeToString([]byte(g.r.User + ":" + g.r.Password))
		h["Authorization"] = []string{"Basic " + token}
	}
	for name, value := range g.r.Header {
		h[textproto.CanonicalMIMEHeaderKey(name)] = []string{value}
	}
}

// validators adds those that may be sent, exactly as received (rules C1, C2, C9).
func (g *get) validators(h http.Header) {
	if tag := g.r.ETag; sendableETag(tag) {
		h["If-None-Match"] = []string{tag}
		g.conditional = true
	}
	if date := g.r.LastModified; date != "" && SendableLastModified(date, time.Time{}) {
		h["If-Modified-Since"] = []string{date}
		g.conditional = true
	}
}

// sendableETag is false for none, for the empty tag (rule C9: such servers answer 304 for ever) and for what cannot
// stand in a header.
func sendableETag(tag string) bool {
	return tag != "" && tag != `""` && tag != `W/""` && httpguts.ValidHeaderFieldValue(tag)
}

// lastSendable is the end of what 32-bit clocks can say (rule C9).
var lastSendable = time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)

// SendableLastModified says whether a Last-Modified that came with the given Date may be sent back. One that lies more than
// 24 hours after Date, or after 2037, may not: such servers answer 304 for ever (rule C9). A zero Date is not compared. What
// is no date at all is sent as it came (rule C2).
func SendableLastModified(lastModified string, date time.Time) bool {
	if lastModified == "" || !httpguts.ValidHeaderFieldValue(lastModified) {
		return false
	}
	t, ok := parseDate(lastModified)
	if !ok {
		return true
	}
	return t.Before(lastSendable) && (date.IsZero() || !t.After(date.Add(24*time.Hour)))
}
