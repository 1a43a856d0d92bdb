package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// canonicalHost is a host in lower case and punycode, or an IP address in its usual form: browsers and some resolvers take
// 2130706433, 0x7f.1 and 127.1 for 127.0.0.1, so they are that here as well. A zone is refused: it means this machine's
// own link.
func canonicalHost(host string) (string, error) {
	if host == "" {
		return "", errNoHost
	}
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		if err != nil {
			return "", fmt.Errorf("%s is not an IP address", clean(host))
		}
		if addr.Zone() != "" {
			return "", fmt.Errorf("%s has a zone, which only means something on this machine", clean(host))
		}
		return addr.String(), nil
	}
	ascii, err := toASCII(host)
	if err != nil {
		return "", err
	}
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	if last != "" && last[0] >= '0' && last[0] <= '9' && number(last) {
		addr, err := legacyIPv4(ascii)
		if err != nil {
			return "", fmt.Errorf("%s is not an IP address", clean(host))
		}
		return addr.String(), nil
	}
	return ascii, nil
}

var errNotHost = errors.New("the URL's host is not a host name")

// toASCII is IDNA's ToASCII for what is not ASCII. Names that are pass as they are, in lower case, with underscores too: they
// are in use, though no host names by the book.
func toASCII(host string) (string, error) {
	if len(host) > 4*253 || !utf8.ValidString(host) { // more than any name in UTF-8; what IDNA does grows with the square
		return "", errNotHost
	}
	if strings.IndexFunc(host, func(r rune) bool { return r >= 0x80 }) >= 0 {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errNotHost
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 253 || host[0] == '.' || strings.Contains(host+".", "..") ||
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return "", errNotHost
	}
	return host, nil
}

// number says whether a last label makes its host an IPv4 address by WHATWG's rule: digits, or hexadecimal digits after 0x.
func number(label string) bool {
	if digits, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// legacyIPv4 reads the forms of inet_aton: one to four parts in decimal, octal (0…) or hexadecimal (0x…), of which the last
// fills what remains.
func legacyIPv4(host string) (netip.Addr, error) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, errors.New("too many parts")
	}
	var value uint64
	for i, part := range parts {
		n, err := legacyNumber(part)
		limit, shift := uint64(1)<<8, 8
		if i == len(parts)-1 {
			shift = 8 * (5 - len(parts))
			limit = 1 << shift
		}
		if err != nil || n >= limit {
			return netip.Addr{}, errors.New("a part is no number or too large")
		}
		value = value<<shift | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}

func legacyNumber(part string) (uint64, error) {
	switch {
	case strings.HasPrefix(part, "0x"):
		if part == "0x" {
			return 0, nil
		}
		return strconv.ParseUint(part[2:], 16, 64)
	case len(part) > 1 && part[0] == '0':
		return strconv.ParseUint(part[1:], 8, 64)
	}
	return strconv.ParseUint(part, 10, 64)
}

// Host returns the key for politeness: the host, with its port only when that is not the scheme's own. What is no URL is
// its own key.
func Host(raw string) string {
	u, err := parseURL(raw)
	if err != nil {
		return raw
	}
	return u.Host
}

// Domain returns the registrable domain of a URL's host. An IPv4 address is its own domain, and so is what is no URL. That of an IPv6
// address is its /48, the most that one site gets as a rule: a machine has at least a /64 to itself, all of whose addresses it can answer
// at.
func Domain(raw string) string {
	u, err := parseURL(raw)
	if err != nil {
		return raw
	}
	return DomainOf(u.Host)
}

// DomainOf is Domain for a host as Host gives it.
func DomainOf(host string) string {
	name := (&url.URL{Host: host}).Hostname()
	if addr, err := netip.ParseAddr(name); err == nil {
		if addr = addr.Unmap(); addr.Is4() {
			return addr.String()
		}
		return netip.PrefixFrom(addr, 48).Masked().String()
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(name)
	if err != nil {
		return name
	}
	return domain
}
