package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Feed is a feed's row.
type Feed struct {
	ID                  int64
	CategoryID          int64
	Category            string
	URL                 string
	Title               string // the person's, else the feed's own
	SiteURL             string
	Status              string // active, stopped
	StoppedReason       string
	ConsecutiveFailures int
	LastError           string
	LastErrorKind       string
	LastErrorAt         time.Time
	LastWarning         string
	LastAttemptAt       time.Time
	LastFetchedAt       time.Time
	LastSuccessAt       time.Time
	NextFetchAt         time.Time
	RetryAfterUntil     time.Time
	FetchedHour         time.Time
	Schedule            string // what its document asks for, as the crawler keeps it; "" nothing
	Items               int
	Settings            FeedSettings
}

// FeedSettings are set by a person for one feed.
type FeedSettings struct {
	MinInterval time.Duration     `json:"min_interval,omitempty"` // 0: the general one
	User        string            `json:"user,omitempty"`
	Password    string            `json:"password,omitempty"`
	Header      map[string]string `json:"header,omitempty"`
	UserAgent   string            `json:"user_agent,omitempty"`
	Proxy       string            `json:"proxy,omitempty"`
	Insecure    bool              `json:"insecure,omitempty"`
}

// settingsText gives settings for storing; none are "".
func settingsText(f FeedSettings) (string, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("write settings: %w", err)
	}
	if string(b) == "{}" {
		return "", nil
	}
	return string(b), nil
}

// Filter chooses feeds; zero chooses all. Failing: active with failures. Stopped and Failing together choose both kinds.
type Filter struct {
	Category string
	Stopped  bool
	Failing  bool
	IDs      []int64
}

// conditions returns the WHERE clause of a filter and its arguments.
func (f Filter) conditions() (string, []driver.Value) {
	where, args := []string{"1"}, []driver.Value{}
	if f.Category != "" {
		where, args = append(where, "c.name = ?"), append(args, f.Category)
	}
	if f.IDs != nil {
		where, args = append(where, "f.id IN (SELECT value FROM json_each(?))"), append(args, idList(f.IDs))
	}
	var states []string
	if f.Stopped {
		states = append(states, "f.status = 'stopped'")
	}
	if f.Failing {
		states = append(states, "f.status = 'active' AND f.consecutive_failures > 0")
	}
	if len(states) > 0 {
		where = append(where, "("+strings.Join(states, " OR ")+")")
	}
	return strings.Join(where, " AND "), args
}

// feedColumns are those of Feed, in the order in which scanFeed takes them, from feeds f joined to categories c.
const feedColumns = `
	f.id,
	f.category_id,
	c.name,
	f.url,
	coalesce(f.own_title, f.title),
	f.site_url,
	f.status,
	f.stopped_reason,
	f.consecutive_failures,
	f.last_error,
	f.last_error_kind,
	f.last_warning,
	f.last_attempt_at,
	f.last_fetched_at,
	f.last_success_at,
	f.next_fetch_at,
	f.retry_after_until,
	f.fetched_hour,
	f.settings,
	f.schedule,
	f.last_error_at,
	(SELECT count(*) FROM items i WHERE i.feed_id = f.id)`

func scanFeed(r row) (Feed, error) {
	f := Feed{
		ID:                  r.int(0),
		CategoryID:          r.int(1),
		Category:            r.text(2),
		URL:                 r.text(3),
		Title:               r.text(4),
		SiteURL:             r.text(5),
		Status:              r.text(6),
		StoppedReason:       r.text(7),
		ConsecutiveFailures: int(r.int(8)),
		LastError:           r.text(9),
		LastErrorKind:       r.text(10),
		LastErrorAt:         r.time(20),
		LastWarning:         r.text(11),
		LastAttemptAt:       r.time(12),
		LastFetchedAt:       r.time(13),
		LastSuccessAt:       r.time(14),
		NextFetchAt:         r.time(15),
		RetryAfterUntil:     r.time(16),
		FetchedHour:         r.time(17),
		Schedule:            r.text(19),
		Items:               int(r.int(21)),
	}
	return f, r.json(18, &f.Settings)
}

// Feeds lists feeds by category name and id.
func (s *Store) Feeds(ctx context.Context, f Filter) (feeds []Feed, err error) {
	where, args := f.conditions()
	err = s.view(ctx, func(t *tx) error {
		feeds = nil
		return t.query(`
			SELECT `+feedColumns+`
			FROM feeds f
			JOIN categories c ON c.id = f.category_id
			WHERE `+where+`
			ORDER BY c.name, f.id`,
			func(r row) error {
				feed, err := scanFeed(r)
				feeds = append(feeds, feed)
				return err
			}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("list feeds: %w", err)
	}
	return feeds, nil
}

// LastRead gives the URLs of n active feeds without a failure and without a proxy of their own, those that were read last first: from them
// it was to be seen most lately that there is a network.
func (s *Store) LastRead(ctx context.Context, n int) (urls []string, err error) {
	err = s.view(ctx, func(t *tx) error {
		urls = nil
		return t.query(`
			SELECT url
			FROM feeds
			WHERE status = 'active' AND consecutive_failures = 0 AND last_success_at IS NOT NULL
			  AND coalesce(settings ->> 'proxy', '') = ''
			ORDER BY last_success_at DESC, id
			LIMIT ?`,
			func(r row) error {
				urls = append(urls, r.text(0))
				return nil
			}, int64(n))
	})
	if err != nil {
		return nil, fmt.Errorf("look for feeds that were read: %w", err)
	}
	return urls, nil
}
