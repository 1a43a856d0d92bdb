package cmd

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// How the text of a setting becomes its value. Each returns a reader for a setting of its kind; the errors say what is wrong
// with the text, and are wrapped with the name of the setting and where it came from.

type reader = func(s *settings, text string) error

func text(into func(*settings) *string) reader {
	return func(s *settings, text string) error {
		*into(s) = text
		return nil
	}
}

func oneOf(into func(*settings) *string, names ...string) reader {
	return func(s *settings, text string) error {
		if !slices.Contains(names, text) {
			return fmt.Errorf("%q is none of %s", text, strings.Join(names, ", "))
		}
		*into(s) = text
		return nil
	}
}

func number(into func(*settings) *int, least, most int) reader {
	return func(s *settings, text string) error {
		n, err := strconv.Atoi(text)
		if errors.Is(err, strconv.ErrSyntax) {
			return fmt.Errorf("%q is not a whole number", text)
		}
		if err != nil || n < least || n > most {
			return fmt.Errorf("%s is not between %d and %d", text, least, most)
		}
		*into(s) = n
		return nil
	}
}

func span(into func(*settings) *time.Duration, least, most time.Duration) reader {
	return func(s *settings, text string) (err error) {
		*into(s), err = parseSpan(text, least, most)
		return err
	}
}

// parseSpan reads a duration like 90s, 25m or 24h.
func parseSpan(text string, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration like 90s, 25m or 24h", text)
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is not between %s and %s", text, short(least), short(most))
	}
	return d, nil
}

// short is a duration without the zero parts that Duration.String adds: 1h instead of 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func size(into func(*settings) *int64, least, most int64) reader {
	return func(s *settings, text string) error {
		n, err := parseSize(text)
		if err != nil {
			return err
		}
		if n < least || n > most {
			return fmt.Errorf("%s is not between %s and %s", text, formatSize(least), formatSize(most))
		}
		*into(s) = n
		return nil
	}
}

// sizeUnits are the units of a size, the largest first.
func sizeUnits() []struct {
	name  string
	bytes int64
} {
	return []struct {
		name  string
		bytes int64
	}{
		{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
	}
}

// parseSize reads a number of bytes like 16MiB, 500kB or 1048576.
func parseSize(text string) (int64, error) {
	digits, bytes := text, int64(1)
	for _, unit := range sizeUnits() {
		if len(text) > len(unit.name) && strings.EqualFold(text[len(text)-len(unit.name):], unit.name) {
			digits, bytes = strings.TrimSpace(text[:len(text)-len(unit.name)]), unit.bytes
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a size like 16MiB, 500kB or 1048576", text)
	}
	return int64(n) * bytes, nil
}

// formatSize is the shortest exact form of a size with binary units.
func formatSize(n int64) string {
	for _, unit := range sizeUnits()[:3] {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// roughSize is a size for people.
func roughSize(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
}

func network(s *settings, text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		address, notAddress := netip.ParseAddr(text)
		if notAddress != nil {
			return fmt.Errorf("%q is not a network like 10.0.0.0/8 or fd00::/8", text)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	s.fetch.AllowNet = append(s.fetch.AllowNet, prefix.Masked())
	return nil
}

func agent(s *settings, text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("a name is needed: sites block fetchers that have none")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }) {
		return fmt.Errorf("%q holds characters that no header can carry", text)
	}
	if strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://") {
		text = userAgent() + " (+" + text + ")"
	}
	s.fetch.UserAgent = text
	return nil
}

func proxy(s *settings, text string) error {
	if text == "" {
		return nil
	}
	u, err := parseProxy(text)
	s.fetch.Proxy = u
	return err
}

// parseProxy reads a proxy's address. The errors do not repeat it: it may hold a password.
func parseProxy(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, errors.New("not a URL like http://proxy.example:3128")
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, fmt.Errorf("%q is none of http, https, socks5, socks5h", u.Scheme)
	}
	return u, nil
}

// database takes a path, sqlite:PATH or sqlite://PATH.
func database(s *settings, text string) error {
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case text == "":
		s.db = ""
	case found && scheme == "sqlite":
		s.db = strings.TrimPrefix(rest, "//")
	case found && (scheme == "postgres" || scheme == "postgresql"):
		return errors.New("PostgreSQL is not supported by this version, only SQLite")
	case found && strings.HasPrefix(rest, "//"):
		return fmt.Errorf("%q is not a kind of database, only sqlite is", scheme)
	default:
		s.db = text
	}
	return nil
}

// against makes a relative path absolute.
func against(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
