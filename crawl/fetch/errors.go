package fetch

import (
	"errors"
	"strings"
)

// Kind names a kind of failure; it is stored as last_error_kind.
type Kind string

// The kinds that this package gives.
const (
	KindDNS       Kind = "dns"       // the name has no address, or the resolver did not say
	KindConnect   Kind = "connect"   // no connection, or it ended without an answer
	KindTLS       Kind = "tls"       // no trustworthy TLS
	KindTimeout   Kind = "timeout"   // one of the time limits
	KindHTTP      Kind = "http"      // a status that is no feed, or redirects that lead nowhere
	KindRefused   Kind = "refused"   // 401, 403
	KindEmpty     Kind = "empty"     // no body
	KindTruncated Kind = "truncated" // the body broke off
	KindMalformed Kind = "malformed" // what came is not HTTP, or a header over the limit
	KindTooLarge  Kind = "too-large" // the body is over the limit
	KindAddress   Kind = "address"   // the URL or its address must not be fetched
)

// Error is a GET that gave no usable answer. Its text names a host, never a whole URL.
type Error struct {
	Kind         Kind
	Local        bool // certainly our own side: no route, no resolver, no descriptors, network down
	Starved      bool // no memory was free for the body: the server has answered, and it is not its fault
	Proxy        bool // the proxy of all feeds (Options.Proxy) could not be reached
	Answered     bool // some HTTP response (a redirect, a broken body) had come before the failure; of an Onward, since it went on
	Unauthorized bool // the server wants a name and password (401)
	AllowedNet   bool // the address tried belongs to AllowNet; public otherwise
	Requests     int  // that were sent
	Err          error
	text         string
}

func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, if there is one. Unlike Error's, its text may hold what the server or the URL said.
func (e *Error) Unwrap() error { return e.Err }

// errLongHeader says that a header went over maxHeader.
var errLongHeader = errors.New("the header is too long")

// errLongAnswer says that a connection brought more than any body may have.
var errLongAnswer = errors.New("the answer is too long")

// clean makes a piece of a URL or header fit for a message: printable ASCII, and short.
func clean(s string) string {
	const most = 100
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
