// Package crawl is one run: which feeds, in what order, and what each outcome means.
//
// A cron hour is the 60 minutes that begin at the start minute. A category is the unit of skipping and resuming; its snapshot is
// the file that holds what its feeds said in one cron hour. A lease is the right of one run to fetch one feed. The breaker stops a
// feed after five failures in a row; only a person resumes it. A surprise is a failure without an answer of a feed that was fine;
// too many in a row are an outage: our own network is down, and nothing counts against the feeds. Rules such as T8 or R4 are
// those of crawl/fetch/README.md.
package crawl

import (
	"log/slog"
	"time"

	"crawl/crawl/fetch"
)

// Config is what every entry point of this package needs. cmd fills it from flags, variables, file and defaults.
type Config struct {
	Dir      string // data directory
	DB       string // path of the database; "" means the directory's own
	OwnDB    bool   // DB is said by the settings file in Dir, where every invocation for that directory finds it
	Settings Settings
	Fetch    fetch.Options
	Log      *slog.Logger
	Now      func() time.Time
	Progress func(Progress)    // called often, from several goroutines; nil for none
	Point    func(name string) // named steps, for crash tests; nil for none
}

// Settings are the rules of a run.
type Settings struct {
	Workers              int           // 256
	PerHost              int           // 2
	MinInterval          time.Duration // 55m
	MaxInterval          time.Duration // 24h
	MaxFailures          int           // 5
	MaxConsecutiveErrors int           // 3
	StartMinute          int           // 30
	TakeoverWait         time.Duration // 60s
	StallAfter           time.Duration // 10m
	Hook                 string        // command, run by /bin/sh -c; "" none
	HookTimeout          time.Duration // 5m
}

// Progress is one category's state under way.
type Progress struct {
	Category    string
	Done, Total int  // feeds
	Closed      bool // its snapshot is complete
}

// RunOptions are the flags of `crawl run`.
type RunOptions struct {
	Force      bool
	Categories []string // names
	Feeds      []string // ids or URLs
	Failed     bool
	Refetch    bool
	MaxFeeds   int // 0: no cap
	Deadline   time.Duration
}

// Outcomes of an invocation, as in `run --json`.
const (
	Done       = "done"
	Unfinished = "unfinished"
	Outage     = "outage"
	Killed     = "killed"
	Nothing    = "nothing"
	Running    = "running"
)

// Summary is what an invocation did; its JSON is `run --json`.
type Summary struct {
	Run     *int64    `json:"run"`
	Kind    string    `json:"kind"`
	Hour    time.Time `json:"hour"`
	Outcome string    `json:"outcome"`
	Seconds float64   `json:"seconds"`

	Categories struct {
		Done    int `json:"done"`
		Skipped int `json:"skipped"`
		Left    int `json:"left"`
	} `json:"categories"`
	Feeds struct {
		Fetched   int `json:"fetched"`
		Changed   int `json:"changed"`
		Unchanged int `json:"unchanged"`
		Failed    int `json:"failed"`
		Throttled int `json:"throttled"`
		Deferred  int `json:"deferred"`
		Left      int `json:"left"`
		Stopped   int `json:"stopped"`
	} `json:"feeds"`
	Items struct {
		New     int `json:"new"`
		Updated int `json:"updated"`
	} `json:"items"`
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`

	// Reason is one line for a person on why the outcome is not done, or why nothing was done ("the kill flag is up since …").
	Reason string `json:"-"`
	// Hint is what can be done about Reason; "" if nothing is known.
	Hint string `json:"-"`
	// Resumable says of what is unfinished that a half-check can go on with it at once.
	Resumable bool `json:"-"`
	// Whole counts documents that had to be parsed whole, by reason (run -v says it).
	Whole map[string]int `json:"-"`
}

// UsageError is a wrong use or configuration that only this package can see; Hint says what to do ("" if nothing).
type UsageError struct{ Text, Hint string }

func (e *UsageError) Error() string { return e.Text }
