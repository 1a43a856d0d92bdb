package fetch

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Request is one conditional GET. Empty fields are not sent.
type Request struct {
	URL           string
	ETag          string // byte for byte as received
	LastModified  string
	LastSuccess   time.Time // when the last good answer came, with which LastModified is compared (rule C9); zero: with nothing
	ValidatorsURL string    // the final URL that gave them; they are sent only on the hop with this URL. "" means URL
	User          string
	Password      string
	Header        map[string]string // sent, like User and Password, to the scheme, host and port of URL alone
	UserAgent     string            // instead of the client's
	Proxy         string            // instead of the client's
	Insecure      bool              // do not verify TLS, for this request alone
	Turns         bool              // where a redirect leads to another host, Get gives an *Onward instead of going there (rule R7)
	// Before is called right before the first byte goes out (and before each further hop). An error keeps the request
	// from being sent (a lost lease) and is returned wrapped by Get.
	Before func() error
}

// What every request says (rules Q3, Q4).
const (
	accept         = "application/atom+xml, application/rss+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1"
	acceptEncoding = "gzip, br, zstd"
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

// field is a line of a request's header.
type field struct{ name, value string }

// fields are those of a request, each name once.
type fields []field

func (f *fields) set(name, value string) {
	for i := range *f {
		if (*f)[i].name == name {
			(*f)[i].value = value
			return
		}
	}
	*f = append(*f, field{name, value})
}

// get returns "" for a field that is not there.
func (f fields) get(name string) string {
	for _, one := range f {
		if one.name == name {
			return one.value
		}
	}
	return ""
}

// header gives them as net/http wants them.
func (f fields) header() http.Header {
	h := make(http.Header, len(f))
	for _, one := range f {
		h[one.name] = []string{one.value}
	}
	return h
}

// fields are the header of the hop that g is at, in the order of their names.
func (g *get) fields() fields {
	f := append(make(fields, 0, 8), field{"Accept", accept}, field{"Accept-Encoding", acceptEncoding}, field{"User-Agent", g.c.o.UserAgent})
	if g.r.UserAgent != "" {
		f.set("User-Agent", g.r.UserAgent)
	}
	if sameOrigin(g.url, g.first) {
		g.own(&f)
	}
	if cookie := g.cookies.header(g.url); cookie != "" {
		if configured := f.get("Cookie"); configured != "" {
			cookie = configured + "; " + cookie
		}
		f.set("Cookie", cookie)
	}
	g.conditional = false
	if g.at == g.validatorsURL {
		g.validators(&f)
	}
	slices.SortFunc(f, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return f
}

// own adds what the feed has configured for its own origin (rule Q5).
func (g *get) own(f *fields) {
	if g.r.User != "" || g.r.Password != "" {
		f.set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(g.r.User+":"+g.r.Password)))
	}
	for name, value := range g.r.Header {
		f.set(textproto.CanonicalMIMEHeaderKey(name), value)
	}
}

// validators adds those that may be sent, exactly as received (rules C1, C2, C9).
func (g *get) validators(f *fields) {
	if tag := g.r.ETag; sendableETag(tag) {
		f.set("If-None-Match", tag)
		g.conditional = true
	}
	if date := g.r.LastModified; sendableLastModified(date, g.r.LastSuccess) {
		f.set("If-Modified-Since", date)
		g.conditional = true
	}
}

// Sendable says whether a GET with these validators, which came at that date, is conditional: whether any of them may be sent back
// (rule C9).
func Sendable(etag, lastModified string, date time.Time) bool {
	return sendableETag(etag) || sendableLastModified(lastModified, date)
}

// sendableETag is false for none, for the empty tag (rule C9: such servers answer 304 for ever) and for what cannot
// stand in a header.
func sendableETag(tag string) bool {
	return tag != "" && tag != `""` && tag != `W/""` && httpguts.ValidHeaderFieldValue(tag)
}

// lastSendable is the end of what 32-bit clocks can say (rule C9).
var lastSendable = time.Date(2038, 1, 1, 0, 0, 0, 0, time.UTC)

// sendableLastModified says whether a Last-Modified that came with the given Date may be sent back. One that lies more than
// 24 hours after Date, or after 2037, may not: such servers answer 304 for ever (rule C9). A zero Date is not compared. What
// is no date at all is sent as it came (rule C2).
func sendableLastModified(lastModified string, date time.Time) bool {
	if lastModified == "" || !httpguts.ValidHeaderFieldValue(lastModified) {
		return false
	}
	t, ok := parseDate(lastModified)
	if !ok {
		return true
	}
	return t.Before(lastSendable) && (date.IsZero() || !t.After(date.Add(24*time.Hour)))
}
