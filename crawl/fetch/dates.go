package fetch

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter is the most that a Retry-After may ask for (rule T9).
const maxRetryAfter = 7 * 24 * time.Hour

// dateForms are those of RFC 9110, 5.6.7, with the liberties that servers take: a day of one digit, a numeric zone, no name of
// the day, dashes.
var dateForms = []string{
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"Monday, 2-Jan-06 15:04:05 -0700",
	"Mon Jan _2 15:04:05 2006",
	"Mon, 2-Jan-2006 15:04:05 -0700",
	"Mon, 2-Jan-06 15:04:05 -0700",
	"2 Jan 2006 15:04:05 -0700",
	"Monday, 2 Jan 2006 15:04:05 -0700",
	time.RFC3339,
}

// parseDate reads an HTTP-date. The zone may be GMT, UTC, UT, Z or numeric; others are not believed.
func parseDate(s string) (time.Time, bool) {
	if s = strings.TrimSpace(s); s == "" || len(s) > 60 {
		return time.Time{}, false
	}
	if t, err := time.Parse(http.TimeFormat, s); err == nil { // nearly always
		return t.UTC(), true
	}
	for _, zone := range []string{" GMT", " UTC", " UT", " Z", " gmt", " utc"} {
		if date, ok := strings.CutSuffix(s, zone); ok {
			s = date + " +0000"
			break
		}
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// retryAfter reads a Retry-After: seconds, or a date counted from from. 0, negative, past and unreadable ones are as if
// absent; what is over 7 days is capped (rule T9).
func retryAfter(s string, from time.Time) (wait time.Duration, capped bool) {
	wait, ok := seconds(s)
	if !ok {
		date, ok := parseDate(s)
		if !ok {
			return 0, false
		}
		wait = date.Sub(from)
	}
	if wait > maxRetryAfter {
		return maxRetryAfter, true
	}
	return max(0, wait), false
}
