package crawl

import (
	"testing"
	"time"

	"crawl/crawl/feed"
	"crawl/crawl/fetch"
	"crawl/store"
)

var testSettings = Settings{
	Workers: 256, PerHost: 2, MinInterval: 55 * time.Minute, MaxInterval: 24 * time.Hour, MaxFailures: 5, MaxConsecutiveErrors: 3,
}

func TestNextFetch(t *testing.T) {
	monday := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	allHours := make([]int, 24)
	for i := range allHours {
		allHours[i] = i
	}
	tests := []struct {
		name     string
		claim    store.Claim
		maxAge   time.Duration
		interval time.Duration
		hints    feed.Hints
		want     time.Duration
	}{
		{name: "T1 the general minimum", want: 55 * time.Minute},
		{name: "T1 ranked: no minimum", claim: store.Claim{Ranked: true}, want: 0},
		{name: "T1 ranked: the server's own hints hold", claim: store.Claim{Ranked: true}, maxAge: 10 * time.Minute, want: 10 * time.Minute},
		{name: "a person's minimum", claim: store.Claim{Settings: store.FeedSettings{MinInterval: 3 * time.Hour}}, want: 3 * time.Hour},
		{name: "max-age below the minimum", maxAge: time.Minute, want: 55 * time.Minute},
		{name: "max-age", maxAge: 2 * time.Hour, want: 2 * time.Hour},
		{name: "T6 max-age of 16 years", maxAge: 16 * 365 * 24 * time.Hour, want: 24 * time.Hour},
		{name: "T5 ttl", hints: feed.Hints{Interval: 4 * time.Hour}, want: 4 * time.Hour},
		{name: "T6 a ttl of a month", hints: feed.Hints{Interval: 30 * 24 * time.Hour}, want: 24 * time.Hour},
		{name: "T8", interval: 7 * time.Hour, want: 7 * time.Hour},
		{name: "T7 skipHours", hints: feed.Hints{SkipHours: []int{11, 12}}, want: 2*time.Hour + 30*time.Minute},
		{name: "T7 skipDays", hints: feed.Hints{SkipDays: []time.Weekday{time.Monday}}, want: 13*time.Hour + 30*time.Minute},
		{name: "T7 all hours: ignored", hints: feed.Hints{SkipHours: allHours}, want: 55 * time.Minute},
		{name: "T7 all days: ignored", hints: feed.Hints{SkipDays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}, want: 55 * time.Minute},
		{name: "T7 all days but one, twice named", hints: feed.Hints{SkipDays: []time.Weekday{0, 1, 1, 2, 3, 4, 5}}, want: 4*24*time.Hour + 13*time.Hour + 30*time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testSettings.next(monday, &tt.claim, tt.maxAge, tt.interval, packHints(tt.hints)).Sub(monday)
			if got != tt.want {
				t.Errorf("next after %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBackoffGrowsAndIsSpread(t *testing.T) {
	hour := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	for n, want := range map[int]time.Duration{1: time.Hour, 2: 2 * time.Hour, 3: 4 * time.Hour, 4: 8 * time.Hour, 9: 8 * time.Hour} {
		seen := map[time.Duration]bool{}
		for id := range int64(100) {
			d := backoff(n, id, hour)
			if d < want*9/10 || d > want*11/10 {
				t.Errorf("failure %d of feed %d: %v, want %v ±10 %%", n, id, d, want)
			}
			if d != backoff(n, id, hour) {
				t.Errorf("failure %d of feed %d: not the same twice", n, id)
			}
			seen[d] = true
		}
		if len(seen) < 90 {
			t.Errorf("failure %d: only %d different waits of 100 feeds", n, len(seen))
		}
	}
}

func TestHintsSurviveTheirRow(t *testing.T) {
	h := feed.Hints{Interval: 2 * time.Hour, SkipHours: []int{0, 5}, SkipDays: []time.Weekday{time.Sunday}}
	got := unpackHints(packHints(h))
	if got.Seconds != 7200 || len(got.SkipHours) != 2 || got.SkipDays[0] != time.Sunday {
		t.Errorf("%+v became %+v", h, got)
	}
	if packHints(feed.Hints{}) != "" {
		t.Error("no hints are not the empty text")
	}
	if h := unpackHints("{broken"); h.Seconds != 0 {
		t.Error("unreadable hints ask for something")
	}
}

// An excluded hour keeps a feed that came due before it, and one that failed or was throttled, waiting: only who wants it now gets it.
func TestNoRequestInAnExcludedHour(t *testing.T) {
	monday := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	schedule := packHints(feed.Hints{SkipHours: []int{10, 11, 12}})
	claim := &store.Claim{ID: 1, Schedule: schedule, NextFetchAt: monday.Add(-time.Hour)}
	usual, loose := &task{cat: &category{}}, &task{cat: &category{loose: true}}
	hourly, forced := &pool{s: &session{}}, &pool{s: &session{forced: monday}}
	for name, c := range map[string]struct {
		p     *pool
		task  *task
		claim *store.Claim
		at    time.Time
		want  bool
	}{
		"within":           {hourly, usual, claim, monday, true},
		"before":           {hourly, usual, claim, monday.Add(-31 * time.Minute), false},
		"after":            {hourly, usual, claim, monday.Add(150 * time.Minute), false},
		"forced":           {forced, usual, claim, monday, false},
		"named":            {hourly, loose, claim, monday, false},
		"due at once":      {hourly, usual, &store.Claim{Schedule: schedule}, monday, false},
		"asks for nothing": {hourly, usual, &store.Claim{NextFetchAt: monday}, monday, false},
	} {
		if got := c.p.excluded(c.task, c.claim, c.at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}

	at := monday.Add(-80 * time.Minute) // 9:10
	for name, resp := range map[string]*fetch.Response{
		"failed": {Status: 500}, "throttled": {Status: 429}, "asked to wait": {Status: 503, RetryAfter: 2 * time.Hour},
		"failed and asked to wait": {Status: 500, RetryAfter: 90 * time.Minute},
	} {
		o := &observation{claim: claim, resp: resp, err: resp.Failure(), at: at, hour: at}
		if got, want := testSettings.outcome(o).Feed.NextFetchAt, monday.Add(150*time.Minute); !got.Equal(want) {
			t.Errorf("%s: due at %v, not %v", name, got, want)
		}
	}
}
