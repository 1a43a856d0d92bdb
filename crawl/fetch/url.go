package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

var errNoHost = errors.New("the URL has no host")

// parseURL reads an absolute http or https URL into the one form in which this package compares and sends it: host in lower
// case and punycode, numbers for an IPv4 address written out, no default port, no fragment, no user, spaces and other
// bytes that cannot be sent escaped. Its errors name the host at most.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(escape(raw))
	if err != nil {
		return nil, unreadable(err)
	}
	return u, canonical(u)
}

// unreadable says why url.Parse refused a URL. Its own text is not repeated, for it has the URL in it, or the part after a
// colon that was meant as a password.
func unreadable(err error) error {
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return errors.New("the URL has a % that begins no escape")
	case errors.As(err, &host):
		return errNotHost
	case strings.Contains(err.Error(), "invalid port"):
		return errNotPort
	}
	return errors.New("it is not a URL")
}

var errNotPort = errors.New("the URL's port is not a number from 1 to 65535")

// canonical turns u into the form that parseURL promises.
func canonical(u *url.URL) error {
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		if u.Scheme == "" {
			return errors.New("the URL has no scheme; only http and https are fetched")
		}
		return fmt.Errorf("%s is not http or https", schemeName(u.Scheme))
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return err
	}
	port := u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return errNotPort
		}
		port = strconv.FormatUint(n, 10)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != defaultPort(u.Scheme) {
		host += ":" + port
	}
	u.Host = host
	u.User, u.Fragment, u.RawFragment, u.Opaque = nil, "", "", ""
	return nil
}

// schemeName names a scheme if it is a common one: what stands before the first colon may also be a user's name.
func schemeName(scheme string) string {
	switch scheme {
	case "about", "data", "feed", "file", "ftp", "ftps", "gemini", "gopher", "javascript", "mailto", "ws", "wss":
		return "the scheme " + scheme
	}
	return "the URL's scheme"
}

// escape makes a URL as people and servers write it one that can be parsed and sent: white space around it goes, tabs and
// line breaks within it too (as in browsers), spaces and bytes outside ASCII become escapes. Bytes of the host are left
// for IDNA.
func escape(raw string) string {
	raw = strings.Trim(raw, " \t\r\n\f")
	clean := true
	for i := 0; i < len(raw) && clean; i++ {
		clean = raw[i] > ' ' && raw[i] < 0x7f
	}
	if clean {
		return raw
	}
	raw = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(raw)
	start := 0 // of what follows the host
	if scheme, rest, ok := strings.Cut(raw, "//"); ok && !strings.ContainsAny(scheme, "/?#") {
		start = len(raw)
		if end := strings.IndexAny(rest, "/?#"); end >= 0 {
			start += end - len(rest)
		}
	}
	var b strings.Builder
	b.WriteString(raw[:start])
	for i := start; i < len(raw); i++ {
		if c := raw[i]; c == ' ' || c >= 0x80 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// sameOrigin compares scheme, host and port of two canonical URLs.
func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// CheckURL says by name why a URL could never be fetched (scheme, no host, port, literal private address); nil if it may be.
// It resolves nothing. feed:// is not accepted here: Normalize first.
func (c *Client) CheckURL(raw string) error {
	u, err := parseURL(raw)
	if err != nil {
		return err
	}
	return c.guard.checkURL(u)
}

// Normalize turns what a person typed into the URL that is stored: feed: becomes https:, a missing scheme https://, host in
// lower case and punycode, no fragment, default port removed. User and password are taken out and returned apart.
func Normalize(raw string) (clean, user, password string, err error) {
	u, err := url.Parse(escape(withScheme(raw)))
	if err != nil {
		return "", "", "", unreadable(err)
	}
	if u.User != nil {
		user = u.User.Username()
		password, _ = u.User.Password()
	}
	if err := canonical(u); err != nil {
		return "", "", "", err
	}
	return u.String(), user, password, nil
}

// withScheme gives an address as typed its scheme.
func withScheme(raw string) string {
	raw = strings.TrimSpace(raw)
	scheme, rest, found := strings.Cut(raw, ":")
	switch lower := strings.ToLower(scheme); {
	case !found || strings.ContainsAny(scheme, "/?#.@[") || digits(rest): // a host, with or without a port
		return "https://" + strings.TrimPrefix(raw, "//")
	case lower == "feed":
		return withScheme(rest) // an address without scheme, or one with: feed:https://…
	case (lower == "http" || lower == "https") && !strings.HasPrefix(rest, "//"):
		return lower + "://" + strings.TrimPrefix(rest, "/")
	case !strings.HasPrefix(rest, "/") && strings.Contains(rest, "@") && lower != "mailto":
		return "https://" + raw // user:password@host
	}
	return raw
}

// digits says whether what follows a colon is a port.
func digits(rest string) bool {
	port, _, _ := strings.Cut(rest, "/")
	_, err := strconv.ParseUint(port, 10, 64)
	return err == nil
}

// Redact returns scheme://host of a URL: what logs, errors and last_error may show.
func Redact(raw string) string {
	u, err := parseURL(raw)
	if err != nil {
		return "an unreadable URL"
	}
	return u.Scheme + "://" + u.Host
}
