package feed

import (
	"net/url"
	"strings"
)

// forbidden schemes run or embed something where a link is followed; links with them are dropped.
var forbidden = map[string]bool{
	"javascript": true, "data": true, "vbscript": true, "file": true,
	"about": true, "blob": true, "filesystem": true, "jar": true, "view-source": true, // may hold one of the above
}

// resolve makes ref an absolute http or https address, with base for what is relative. Everything else (mailto:, what
// cannot be read, what is longer than maxURL) is "".
func resolve(base, ref string) string {
	if ref = absolute(base, ref); isHTTP(ref) {
		return ref
	}
	return ""
}

// absolute makes ref an absolute address of any scheme that is not forbidden: items may be links to magnet: or gemini:,
// or named by tag: (RFC 4287 allows any IRI).
func absolute(base, ref string) string {
	ref = clean(strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' || r == '\u00a0' || r == '\ufeff' }))
	if ref == "" || len(ref) > maxURL {
		return ""
	}
	if strings.ContainsAny(ref, " \t\r\n") {
		ref = strings.NewReplacer("\t", "", "\r", "", "\n", "", " ", "%20").Replace(ref)
	}
	if isHTTP(ref) {
		if hasHost(ref) {
			return ref
		}
		return ""
	}
	u, err := url.Parse(escapePercent(ref))
	if err != nil {
		return ""
	}
	if u.Scheme != "" {
		if forbidden[u.Scheme] || u.Opaque == "" && u.Host == "" && u.RawQuery == "" || u.Scheme == "http" || u.Scheme == "https" {
			return ""
		}
		return ref
	}
	b, err := url.Parse(base)
	if err != nil || b.Host == "" {
		return ""
	}
	if abs := b.ResolveReference(u).String(); isHTTP(abs) && hasHost(abs) && len(abs) <= maxURL {
		return abs
	}
	return ""
}

func isHTTP(s string) bool {
	return len(s) > 8 && (strings.EqualFold(s[:7], "http://") || strings.EqualFold(s[:8], "https://"))
}

// hasHost reports whether an http address has a host that could be one.
func hasHost(s string) bool {
	host := s[strings.Index(s, "://")+3:]
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	return host != "" && host[0] != ':' && !strings.ContainsAny(host, "<>\"'\\^`{|} ")
}

// escapePercent makes a percent sign that begins no escape one that url.Parse accepts.
func escapePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		out.WriteByte(s[i])
		if s[i] == '%' && (i+2 >= len(s) || hexDigit(s[i+1]) < 0 || hexDigit(s[i+2]) < 0) {
			out.WriteString("25")
		}
	}
	return out.String()
}

// joinBase resolves an xml:base against the base around it (XML Base 4.2); one that cannot be read changes nothing.
func joinBase(base, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxURL {
		return base
	}
	u, err := url.Parse(escapePercent(ref))
	if err != nil {
		return base
	}
	b, err := url.Parse(base)
	if err != nil {
		return base
	}
	if abs := b.ResolveReference(u); (abs.Scheme == "http" || abs.Scheme == "https") && abs.Host != "" {
		return clip(abs.String(), maxURL)
	}
	return base
}

// secure is an address with http made https, so that both are the same identity; other text stays as it is.
func secure(s string) string {
	if len(s) > 7 && strings.EqualFold(s[:7], "http://") {
		return "https://" + s[7:]
	}
	if len(s) > 8 && strings.EqualFold(s[:8], "https://") {
		return "https://" + s[8:]
	}
	return s
}
