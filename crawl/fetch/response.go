package fetch

import (
	"net/http"
	"strings"
	"time"
)

// Hop is one redirect that was followed.
type Hop struct {
	Status   int
	From, To string
}

// Response is one whole HTTP answer, whatever its status.
type Response struct {
	Status           int
	URL              string // the final URL
	Hops             []Hop
	PermanentURL     string        // the final URL if the whole chain was permanent (301, 308) and not empty, else ""
	ETag             string        // "" if absent
	LastModified     string        // "" if absent
	ContentType      string        // as received
	Body             []byte        // decoded; only of 200, 203 and 226
	Truncated        string        // why the body did not arrive whole, "" if it did
	TruncatedKind    Kind          // of what Truncated says: truncated, too-large or timeout; "" if it arrived whole
	Fresh            time.Duration // how long it stays fresh from now (rules T2–T4); 0: no delay asked
	RetryAfter       time.Duration // of a 4xx or 5xx, counted from Date; 0 none; capped at 7 days (RetryAfterCapped says so)
	RetryAfterCapped bool
	BotCheck         bool // cf-mitigated: challenge, or Cloudflare refusing with HTML
	Conditional      bool // validators were sent on the final hop
	AllowedNet       bool // the answer came from a network of AllowNet (not from a public address)
	Requests         int
	Bytes            int64         // on the wire: bodies as received
	Elapsed          time.Duration // without waits for a turn or for memory

	hold *hold
}

// Release gives the body's memory back to the client's bound. The body must not be used afterwards. Safe on nil, and twice.
func (r *Response) Release() {
	if r == nil || r.hold == nil {
		return
	}
	recycle(r.Body)
	r.hold.release()
	r.hold, r.Body = nil, nil
}

// Failure classifies the status: nil for those whose body may be read or that say "unchanged" (200, 203, 226, 304 to a
// conditional request), else an *Error of kind http, refused, or empty. 429, 503 and 410 are *Error of kind http too; the
// caller looks at Status first. A body of which nothing arrived is the kind of failure that TruncatedKind says; one that
// arrived in part is no failure yet.
func (r *Response) Failure() *Error {
	fail := func(kind Kind, text string) *Error {
		return &Error{Kind: kind, Answered: true, AllowedNet: r.AllowedNet, Requests: r.Requests, text: Redact(r.URL) + ": " + text}
	}
	switch s := r.Status; {
	case s == http.StatusNoContent || s == http.StatusResetContent:
		return fail(KindEmpty, "answered "+statusText(s))
	case readable(s) && len(r.Body) > 0:
		return nil
	case readable(s) && r.Truncated != "":
		return fail(r.TruncatedKind, r.Truncated)
	case readable(s):
		return fail(KindEmpty, "the body is empty")
	case s == http.StatusNotModified && r.Conditional:
		return nil
	case s == http.StatusNotModified:
		return fail(KindHTTP, "answered 304 Not Modified though nothing conditional was asked")
	case redirects(s):
		return fail(KindHTTP, "answered "+statusText(s)+" without a Location")
	case (s == http.StatusUnauthorized || s == http.StatusForbidden) && r.BotCheck:
		return fail(KindRefused, "answered "+statusText(s)+" (a bot check)")
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		e := fail(KindRefused, "answered "+statusText(s))
		e.Unauthorized = s == http.StatusUnauthorized
		return e
	case r.BotCheck:
		return fail(KindHTTP, "answered "+statusText(s)+" (a bot check)")
	}
	return fail(KindHTTP, "answered "+statusText(r.Status))
}

// readable says whether a status has a body that may be a feed. 226 is a partial list (RFC 3229).
func readable(status int) bool {
	return status == http.StatusOK || status == http.StatusNonAuthoritativeInfo || status == http.StatusIMUsed
}

// botCheck recognises Cloudflare's challenges.
func botCheck(status int, h http.Header) bool {
	if status < 400 {
		return false
	}
	if strings.Contains(strings.ToLower(h.Get("Cf-Mitigated")), "challenge") {
		return true
	}
	return (status == http.StatusUnauthorized || status == http.StatusForbidden) &&
		strings.Contains(strings.ToLower(h.Get("Server")), "cloudflare") &&
		strings.Contains(strings.ToLower(h.Get("Content-Type")), "html")
}
