package fetch

import (
	"math"
	"net/http"
	"testing"
	"time"
)

// most is the longest that a Duration can say.
const most = time.Duration(math.MaxInt64)

// freshnessTable is what answers say about the next visit, made on 1 March 2026 at 12:00.
var freshnessTable = []struct {
	name   string
	header http.Header
	want   time.Duration
}{
	{"nothing", http.Header{}, 0},
	{"max-age", cc("max-age=600"), 10 * time.Minute},
	{"case", cc("Public, MAX-AGE=600"), 10 * time.Minute},
	{"spaces", cc(" max-age = 600 , public"), 10 * time.Minute},
	{"quoted digits", cc(`max-age="600"`), 10 * time.Minute},
	{"lines are joined", cc("public", "max-age=600"), 10 * time.Minute},
	{"no-store on another line", cc("max-age=600", "no-store"), 0},
	{"no-cache", cc("no-cache, max-age=600"), 0},
	{"no-cache after", cc("max-age=600, No-Cache"), 0},
	{"no-cache of one field is about that field", cc(`no-cache="set-cookie", max-age=600`), 10 * time.Minute},
	{"no-store", cc("max-age=600,no-store"), 0},
	{"no-cache rules out Expires too", with(cc("no-cache"), "Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), 0},
	{"a quoted comma", cc(`ext="a, no-store", max-age=600`), 10 * time.Minute},
	{"a quoted directive", cc(`ext="max-age=1", max-age=600`), 10 * time.Minute},
	{"an escaped quote", cc(`ext="\", no-store", max-age=600`), 10 * time.Minute},
	{"an open quote", cc(`max-age=600, ext="no-store, max-age=5`), 10 * time.Minute},
	{"negative", cc("max-age=-5"), 0},
	{"unreadable", cc("max-age=soon"), 0},
	{"unreadable leaves Expires", with(cc("max-age=soon"), "Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), time.Hour},
	{"empty", cc("max-age="), 0},
	{"fraction", cc("max-age=1.5"), 0},
	{"plus", cc("max-age=+5"), 0},
	{"the first readable one", cc("max-age=x, max-age=60, max-age=600"), time.Minute},
	{"s-maxage is not for us", cc("s-maxage=600"), 0},
	{"s-maxage beside max-age", cc("s-maxage=9999, max-age=600"), 10 * time.Minute},
	{"xmax-age", cc("xmax-age=600"), 0},
	{"16 years", cc("max-age=504576000"), 504576000 * time.Second},
	{"overflow of seconds", cc("max-age=99999999999999999999999999"), most},
	{"overflow of Duration", cc("max-age=9223372036854775807"), most},
	{"age", with(cc("max-age=600"), "Age", "120"), 8 * time.Minute},
	{"older than that", with(cc("max-age=600"), "Age", "700"), 0},
	{"unreadable age", with(cc("max-age=600"), "Age", "old"), 10 * time.Minute},
	{"negative age", with(cc("max-age=600"), "Age", "-100"), 10 * time.Minute},
	{"age without end", with(cc("max-age=600"), "Age", "99999999999999999999"), 0},
	{"overflow less age", with(cc("max-age=99999999999999999999"), "Age", "60"), most - time.Minute},
	{"Expires from Date", h("Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), time.Hour},
	{"Expires with age", with(h("Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), "Age", "600"), 50 * time.Minute},
	{"Expires past", h("Expires", "Sun, 01 Mar 2026 11:00:00 GMT"), 0},
	{"Expires now", h("Expires", "Sun, 01 Mar 2026 12:00:00 GMT"), 0},
	{"Expires 0", h("Expires", "0"), 0},
	{"Expires -1", h("Expires", "-1"), 0},
	{"Expires unreadable", h("Expires", "tomorrow"), 0},
	{"Expires in asctime", h("Expires", "Sun Mar  1 13:00:00 2026"), time.Hour},
	{"Expires +0000", h("Expires", "Sun, 01 Mar 2026 13:00:00 +0000"), time.Hour},
	{"max-age beats Expires", with(cc("max-age=60"), "Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), time.Minute},
	{"max-age 0 beats Expires", with(cc("max-age=0"), "Expires", "Sun, 01 Mar 2026 13:00:00 GMT"), 0},
	{"private and must-revalidate say nothing of time", cc("private, must-revalidate"), 0},
	{"only commas", cc(",,,"), 0},
	{"no heuristics", h("Last-Modified", "Sun, 01 Mar 2020 12:00:00 GMT"), 0},
}

func TestFreshness(t *testing.T) {
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range freshnessTable {
		t.Run(tt.name, func(t *testing.T) {
			if got := freshness(tt.header, date); got != tt.want {
				t.Errorf("MaxAge %v, want %v", got, tt.want)
			}
		})
	}
}

// cc is a header with these Cache-Control lines.
func cc(lines ...string) http.Header { return http.Header{"Cache-Control": lines} }

func h(name, value string) http.Header { return http.Header{name: {value}} }

func with(h http.Header, name, value string) http.Header {
	h[name] = []string{value}
	return h
}

func TestRetryAfter(t *testing.T) {
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const week = 7 * 24 * time.Hour
	for _, tt := range []struct {
		value  string
		want   time.Duration
		capped bool
	}{
		{"", 0, false},
		{"120", 2 * time.Minute, false},
		{" 120 ", 2 * time.Minute, false},
		{"0", 0, false},
		{"00060", time.Minute, false},
		{"-1", 0, false},
		{"+60", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"60s", 0, false},
		{"one hour", 0, false},
		{"604800", week, false},
		{"604801", week, true},
		{"99999999999999999999999", week, true},
		{"Sun, 01 Mar 2026 15:00:00 GMT", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 UTC", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 UT", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 Z", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 +0000", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 -0000", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 16:00:00 +0100", 3 * time.Hour, false},
		{"Sun, 1 Mar 2026 15:00:00 GMT", 3 * time.Hour, false},
		{"sun, 01 mar 2026 15:00:00 gmt", 3 * time.Hour, false},
		{"Sunday, 01-Mar-26 15:00:00 GMT", 3 * time.Hour, false},
		{"Sunday, 01-Mar-26 15:00:00 UTC", 3 * time.Hour, false},
		{"Sun, 01-Mar-2026 15:00:00 GMT", 3 * time.Hour, false},
		{"Sun, 01-Mar-26 15:00:00 GMT", 3 * time.Hour, false},
		{"Sun Mar  1 15:00:00 2026", 3 * time.Hour, false},
		{"Sun Mar 01 15:00:00 2026", 3 * time.Hour, false},
		{"01 Mar 2026 15:00:00 GMT", 3 * time.Hour, false},
		{"2026-03-01T15:00:00Z", 3 * time.Hour, false},
		{"2026-03-01T16:00:00+01:00", 3 * time.Hour, false},
		{"Sun, 01 Mar 2026 15:00:00 EST", 0, false}, // whose EST?
		{"Sun, 01 Mar 2026 15:00:00", 0, false},
		{"Sun, 01 Mar 2026 12:00:00 GMT", 0, false},
		{"Sun, 01 Mar 2026 09:00:00 GMT", 0, false},
		{"Sun, 01 Mar 2020 09:00:00 GMT", 0, false},
		{"Sun, 08 Mar 2026 12:00:00 GMT", week, false},
		{"Sun, 08 Mar 2026 12:00:01 GMT", week, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", week, true},
		{"Mon, 30 Feb 2026 15:00:00 GMT", 0, false},
	} {
		got, capped := retryAfter(tt.value, date)
		if got != tt.want || capped != tt.capped {
			t.Errorf("retryAfter(%q) = %v %v, want %v %v", tt.value, got, capped, tt.want, tt.capped)
		}
	}
}

func TestSendableLastModified(t *testing.T) {
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		value string
		date  time.Time
		want  bool
	}{
		{"", date, false},
		{"Sun, 01 Mar 2026 12:00:00 GMT", date, true},
		{"Thu, 01 Jan 1970 00:00:00 GMT", date, true},
		{"Mon, 02 Mar 2026 12:00:00 GMT", date, true},
		{"Mon, 02 Mar 2026 12:00:01 GMT", date, false},
		{"Mon, 02 Mar 2026 12:00:01 GMT", time.Time{}, true},
		{"Tue, 19 Jan 2038 03:14:08 GMT", time.Time{}, false},
		{"Fri, 01 Jan 2038 00:00:00 GMT", time.Time{}, false},
		{"Thu, 31 Dec 2037 23:59:59 GMT", time.Time{}, true},
		{"Fri, 31 Dec 9999 23:59:59 +0000", time.Time{}, false},
		{"yesterday, or so", date, true}, // odd dates go back as they came
		{"2026-03-01 12:00:00", date, true},
		{"bad\x00byte", date, false},
	} {
		if got := sendableLastModified(tt.value, tt.date); got != tt.want {
			t.Errorf("sendableLastModified(%q, %v) = %v", tt.value, tt.date, got)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"120", "-1", "Sun, 01 Mar 2026 15:00:00 GMT", "Sunday, 01-Mar-26 15:00:00 UTC", "2026-03-01T15:00:00Z"} {
		f.Add(s)
	}
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if wait, capped := retryAfter(s, date); wait < 0 || wait > maxRetryAfter || capped && wait != maxRetryAfter {
			t.Errorf("retryAfter(%q) = %v %v", s, wait, capped)
		}
	})
}

func FuzzCacheControl(f *testing.F) {
	for _, s := range []string{"max-age=600", `no-cache="a,b", max-age="5"`, `a="\`, "max-age=99999999999999999999", ",,="} {
		f.Add(s, "60", "Sun, 01 Mar 2026 15:00:00 GMT")
	}
	date := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, control, age, expires string) {
		h := http.Header{"Cache-Control": {control}, "Age": {age}, "Expires": {expires}}
		if got := freshness(h, date); got < 0 {
			t.Errorf("MaxAge %v", got)
		}
	})
}
