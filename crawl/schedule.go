package crawl

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"crawl/crawl/feed"
	"crawl/store"
)

const (
	// grace lets a run take what is due within the next minutes: hourly cron would else miss an hourly feed every
	// second time. It never applies to a Retry-After.
	grace = 5 * time.Minute
	// truncatedDelay keeps a feed whose document does not arrive whole from being loaded over and over.
	truncatedDelay = 24 * time.Hour
	// throttledDelay is the wait after a 429 that names none.
	throttledDelay = time.Hour
	// maxBackoff is the longest wait after a failure.
	maxBackoff = 8 * time.Hour
)

// hints is a document's own schedule as it is kept in the feed's row between documents.
type hints struct {
	Seconds   int64          `json:"seconds,omitempty"`
	SkipHours []int          `json:"skip_hours,omitempty"`
	SkipDays  []time.Weekday `json:"skip_days,omitempty"`
}

// packHints gives the text that is stored, "" when the document asks for nothing.
func packHints(h feed.Hints) string {
	p := hints{Seconds: int64(h.Interval / time.Second), SkipHours: h.SkipHours, SkipDays: h.SkipDays}
	if p.Seconds == 0 && len(p.SkipHours) == 0 && len(p.SkipDays) == 0 {
		return ""
	}
	b, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(b)
}

func unpackHints(text string) hints {
	var h hints
	if text != "" {
		_ = json.Unmarshal([]byte(text), &h) // what cannot be read asks for nothing
	}
	return h
}

// minInterval is the least time between two successful fetches of a feed: the person's for this feed, else none in a
// ranked category, else the general one (rule T1).
func (s Settings) minInterval(c *store.Claim) time.Duration {
	if c.Settings.MinInterval > 0 {
		return c.Settings.MinInterval
	}
	if c.Ranked {
		return 0
	}
	return s.MinInterval
}

// next is when a feed that was fetched well at this time is due again: the latest of what the interval, the headers and
// the document ask for, moved out of the hours and days that the document excludes (rule T1–T8).
func (s Settings) next(at time.Time, c *store.Claim, maxAge, interval time.Duration, schedule string) time.Time {
	h := unpackHints(schedule)
	wait := max(s.minInterval(c), s.clamp(maxAge), s.clamp(interval), s.clamp(time.Duration(h.Seconds)*time.Second))
	return skip(at.Add(wait), h)
}

func (s Settings) clamp(d time.Duration) time.Duration {
	return min(max(d, 0), s.MaxInterval)
}

// skip moves t forward out of skipHours and skipDays (GMT). A list that leaves no hour or no day is ignored.
func skip(t time.Time, h hints) time.Time {
	u := t.UTC()
	if len(h.SkipDays)+len(h.SkipHours) == 0 {
		return u
	}
	for range 8 * 24 {
		if !slices.Contains(h.SkipDays, u.Weekday()) && !slices.Contains(h.SkipHours, u.Hour()) {
			return u
		}
		u = u.Truncate(time.Hour).Add(time.Hour)
	}
	return t
}

// exclude tells whether the document's own schedule rules t out. A feed may be due then all the same: its hour was missed, or it came
// due shortly before.
func (h hints) exclude(t time.Time) bool { return !skip(t, h).Equal(t) }

// backoff is the wait after the n-th failure in a row: 1, 2, 4, 8 h, ±10 % so that failures of one moment do not come back
// together. The spread follows from feed and hour: a result that is worked out twice is the same twice.
func backoff(n int, feedID int64, hour time.Time) time.Duration {
	d := min(time.Hour<<min(max(n-1, 0), 3), maxBackoff)
	h := fnv.New64a()
	h.Write(strconv.AppendInt(strconv.AppendInt(nil, feedID, 10), hour.Unix(), 36))
	spread := int64(d) / 5
	return d - d/10 + time.Duration(h.Sum64()%uint64(spread+1))
}

// doubled is the interval of a feed without validators whose body did not change (rule T8).
func (s Settings) doubled(c *store.Claim) time.Duration {
	return min(max(c.Interval, s.minInterval(c))*2, s.MaxInterval)
}
