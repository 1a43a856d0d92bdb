package feed

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// forbidden schemes run or embed something where a link is followed; links with them are dropped.
var forbidden = map[string]bool{
	"javascript": true, "data": true, "vbscript": true, "file": true,
	"about": true, "blob": true, "filesystem": true, "jar": true, "view-source": true, // may hold one of the above
}

// maxAdded is how many bytes the resolving of relative references may add to one document. A reference of a few bytes can
// become an address of 8 KB, so that without it a small document would need a gigabyte. A usual one adds some 30 bytes to
// each of a few hundred.
const maxAdded = 8 << 20

// longBase is the length of a base from which on each use of it counts as if it had added all of it: resolving takes
// that much work, even if little of the base is left in the end.
const longBase = 1 << 10

// resolver resolves the references of one document.
type resolver struct {
	base  string // the last one
	u     *url.URL
	site  *url.URL // u without path, for references that begin with a slash
	added int      // bytes so far, see maxAdded
}

// full reports whether a reference may have been refused because the document had added too much.
func (r *resolver) full() bool { return r.added > maxAdded }

// resolve makes ref an absolute http or https address, with base for what is relative. Everything else (mailto:, what
// cannot be read, what is longer than maxURL) is "".
func (r *resolver) resolve(base, ref string) string {
	if ref = r.absolute(base, ref); isHTTP(ref) {
		return ref
	}
	return ""
}

// absolute makes ref an absolute address of any scheme that is not forbidden: items may be links to magnet: or gemini:,
// or named by tag: (RFC 4287 allows any IRI). No address has a blank, a control character or an invisible one in it.
func (r *resolver) absolute(base, ref string) string {
	ref = clean(strings.TrimFunc(ref, func(r rune) bool { return r <= ' ' || r == '\u00a0' || r == '\ufeff' }))
	if ref == "" || len(ref) > maxURL {
		return ""
	}
	if strings.ContainsAny(ref, "\t\r\n") {
		ref = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
	}
	if isHTTP(ref) && !hasHost(ref) || strings.HasPrefix(ref, "//") && !hasHost("http:"+ref) {
		return ""
	}
	if ref = escapeUnsafe(ref); len(ref) > maxURL {
		return ""
	}
	if isHTTP(ref) {
		return ref
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
	return r.join(base, u, len(ref))
}

// join resolves a relative reference, which was n bytes long.
func (r *resolver) join(base string, ref *url.URL, n int) string {
	if r.full() {
		return ""
	}
	if base != r.base || r.u == nil {
		u, err := url.Parse(base)
		if err != nil {
			u = &url.URL{}
		}
		r.base, r.u, r.site = base, u, &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}
	}
	if r.u.Host == "" {
		return ""
	}
	from, work := r.u, 0
	if ref.Host != "" || strings.HasPrefix(ref.Path, "/") {
		from = r.site
	} else if len(base) > longBase {
		work = len(base)
	}
	abs := from.ResolveReference(ref).String()
	if r.added += max(work, len(abs)-n, 0); r.full() || !isHTTP(abs) || !hasHost(abs) {
		return ""
	}
	if abs = escapeUnsafe(abs); len(abs) > maxURL {
		return ""
	}
	return abs
}

// unsafe reports whether a character must not stand in an address as it is: blanks, control characters, and what is not
// seen but changes what is (marks of direction, joiners), which could forge what a terminal or a page shows; and the
// delimiters of RFC 3986, appendix C.
func unsafe(r rune) bool {
	return r == '"' || r == '<' || r == '>' || r <= ' ' || r == 0x7f || r > 0x7f && (unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp))
}

// escapeUnsafe percent-encodes the characters that are unsafe.
func escapeUnsafe(s string) string {
	at := strings.IndexFunc(s, unsafe)
	if at < 0 {
		return s
	}
	out := []byte(s[:at])
	for _, r := range s[at:] {
		if !unsafe(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, c := range []byte(string(r)) {
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return string(out)
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
	return host != "" && host[0] != ':' && !strings.ContainsAny(host, "'\\^`{|}") && strings.IndexFunc(host, unsafe) < 0
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
func (r *resolver) joinBase(base, ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || len(ref) > maxURL || r.full() {
		return base
	}
	if len(base) > longBase {
		r.added += len(base)
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
