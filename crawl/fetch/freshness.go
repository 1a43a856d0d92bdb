package fetch

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// freshness is for how long an answer that was made at from stays fresh, by Cache-Control, Age and Expires (rules T2–T4); 0 if they ask
// for no delay.
func freshness(h http.Header, from time.Time) time.Duration {
	maxAge, found, never := cacheControl(strings.Join(h["Cache-Control"], ","))
	if never {
		return 0
	}
	life := maxAge
	if !found {
		if expires, ok := parseDate(h.Get("Expires")); ok {
			life = expires.Sub(from)
		}
	}
	if age, ok := seconds(h.Get("Age")); ok {
		life -= age
	}
	return max(0, life)
}

// cacheControl reads the directives that concern us: the first max-age that can be read, and whether no-cache or no-store say
// that it is not to be followed (rule T4). no-cache with field names is about those fields only (RFC 9111, 5.2.2.4).
func cacheControl(s string) (maxAge time.Duration, found, never bool) {
	for s != "" {
		var name, value string
		name, value, s = directive(s)
		switch strings.ToLower(name) {
		case "no-store":
			never = true
		case "no-cache":
			never = never || value == ""
		case "max-age":
			if age, ok := seconds(value); ok && !found {
				maxAge, found = age, true
			}
		}
	}
	return maxAge, found, never
}

// directive cuts the first directive off a list: a name and its value, if any, without quotes.
func directive(s string) (name, value, rest string) {
	quoted, end := false, len(s)
	for i := 0; i < len(s) && end == len(s); i++ {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == ',' && !quoted:
			end = i
		}
	}
	if end < len(s) {
		rest = s[end+1:]
	}
	name, value, _ = strings.Cut(s[:end], "=")
	return strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"`), rest
}

// seconds reads a whole number of seconds, zero or more. What a Duration cannot hold becomes the most that it can.
func seconds(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}
