package cmd

import (
	"fmt"
	"time"

	"crawl/crawl"
	"crawl/crawl/fetch"
)

// settings are all settings as they are in force. What is not named here is the option of one command.
type settings struct {
	dir, db, config     string // absolute; config "" where there is no file
	logLevel, logFormat string
	run                 crawl.Settings
	fetch               fetch.Options
	maxFeeds            int
	deadline            time.Duration
}

// setting is one of them: flag --name, variable CRAWL_NAME and key "name" of the file.
type setting struct {
	name, kind, def, usage string
	list                   bool // a repeatable flag, an array in the file, separated by commas in a variable
	group                  group
	secret                 bool // a URL whose password is never shown
	read                   func(s *settings, text string) error
}

// group says which commands take a setting as a flag.
type group int

const (
	forAll     group = 1 << iota // every command
	forFetch                     // commands that fetch or take a URL
	forInvoked                   // run and half-check
)

// settingList is every setting with its default. The order is that of `crawl config`.
func settingList() []setting {
	var list []setting
	for _, part := range [][]setting{placeSettings(), fetchSettings(), ruleSettings(), runSettings()} {
		list = append(list, part...)
	}
	return list
}

func placeSettings() []setting {
	return []setting{
		{name: "dir", kind: "PATH", group: forAll, usage: "data directory",
			read: text(func(s *settings) *string { return &s.dir })},
		{name: "db", kind: "PATH", group: forAll, secret: true, usage: "SQLite database, by path (default crawl.db in the data directory)",
			read: database},
		{name: "config", kind: "FILE", group: forAll, usage: "settings in TOML (default crawl.toml in the data directory, then in $XDG_CONFIG_HOME/crawl)",
			read: text(func(s *settings) *string { return &s.config })},
		{name: "log-level", kind: "LEVEL", def: "warn", group: forAll, usage: "debug, info, warn or error",
			read: oneOf(func(s *settings) *string { return &s.logLevel }, "debug", "info", "warn", "error")},
		{name: "log-format", kind: "FORMAT", def: "text", group: forAll, usage: "text or json, on standard error",
			read: oneOf(func(s *settings) *string { return &s.logFormat }, "text", "json")},
	}
}

func fetchSettings() []setting {
	return []setting{
		{name: "timeout", kind: "D", def: "60s", group: forFetch, usage: "for one whole fetch, redirects included",
			read: span(func(s *settings) *time.Duration { return &s.fetch.Timeout }, time.Millisecond, time.Hour)},
		{name: "connect-timeout", kind: "D", def: "10s", group: forFetch, usage: "for a connection to stand",
			read: span(func(s *settings) *time.Duration { return &s.fetch.ConnectTimeout }, time.Millisecond, time.Hour)},
		{name: "max-body", kind: "SIZE", def: "16MiB", group: forFetch, usage: "decoded bytes of one document",
			read: size(func(s *settings) *int64 { return &s.fetch.MaxBody }, 1<<10, 1<<30)},
		{name: "allow-net", kind: "CIDR", list: true, group: forFetch, usage: "private network that may be fetched from (repeatable)",
			read: network},
		{name: "user-agent", kind: "TEXT", def: userAgent(), group: forFetch, usage: "what we call ourselves; a URL alone is the contact in the usual name",
			read: agent},
		{name: "proxy", kind: "URL", group: forFetch, secret: true, usage: "fetch through this proxy",
			read: proxy},
	}
}

// longestInterval is the most that may lie between two fetches of a feed.
const longestInterval = 365 * 24 * time.Hour

func ruleSettings() []setting {
	return []setting{
		{name: "workers", kind: "N", def: "256", group: forFetch, usage: "fetches at the same time",
			read: number(func(s *settings) *int { return &s.run.Workers }, 1, 10000)},
		{name: "per-host", kind: "N", def: "2", group: forFetch, usage: "fetches at the same time from one host",
			read: number(func(s *settings) *int { return &s.run.PerHost }, 1, 100)},
		{name: "min-interval", kind: "D", def: "55m", group: forFetch, usage: "between two fetches of a feed, at least",
			read: span(func(s *settings) *time.Duration { return &s.run.MinInterval }, 0, longestInterval)},
		{name: "max-interval", kind: "D", def: "24h", group: forFetch, usage: "that a feed may ask for, at most",
			read: span(func(s *settings) *time.Duration { return &s.run.MaxInterval }, time.Minute, longestInterval)},
		{name: "max-failures", kind: "N", def: "5", group: forFetch, usage: "consecutive failures that stop a feed",
			read: number(func(s *settings) *int { return &s.run.MaxFailures }, 1, 1000)},
		{name: "max-consecutive-errors", kind: "N", def: "3", group: forFetch, usage: "surprising failures in a row that our own network is not blamed for",
			read: number(func(s *settings) *int { return &s.run.MaxConsecutiveErrors }, 1, 1000000)},
		{name: "start-minute", kind: "N", def: "30", group: forFetch, usage: "of the hour, at which cron hours begin",
			read: number(func(s *settings) *int { return &s.run.StartMinute }, 0, 59)},
		{name: "takeover-wait", kind: "D", def: "60s", group: forFetch, usage: "for an overtaken run to end by itself",
			read: span(func(s *settings) *time.Duration { return &s.run.TakeoverWait }, 0, time.Hour)},
		{name: "stall-after", kind: "D", def: "10m", group: forFetch, usage: "without progress, after which a run counts as hung",
			read: span(func(s *settings) *time.Duration { return &s.run.StallAfter }, time.Second, 24*time.Hour)},
	}
}

func runSettings() []setting {
	return []setting{
		{name: "max-feeds", kind: "N", def: "0", group: forInvoked, usage: "fetch at most so many feeds, the others first in the next hour; 0: all",
			read: number(func(s *settings) *int { return &s.maxFeeds }, 0, 1<<31-1)},
		{name: "deadline", kind: "D", def: "25m", group: forInvoked, usage: "stop after this time; 0: never",
			read: span(func(s *settings) *time.Duration { return &s.deadline }, 0, 7*24*time.Hour)},
		{name: "hook", kind: "COMMAND", group: forInvoked, usage: "run by /bin/sh -c when there are changes",
			read: text(func(s *settings) *string { return &s.run.Hook })},
		{name: "hook-timeout", kind: "D", def: "5m", group: forInvoked, usage: "for the hook to end",
			read: span(func(s *settings) *time.Duration { return &s.run.HookTimeout }, time.Second, 24*time.Hour)},
	}
}

// check looks at what no single setting can know. The one that was set is to blame, not a default.
func (s *settings) check(origins map[string]origin) error {
	least, most := origins["min-interval"].from, origins["max-interval"].from
	switch {
	case s.run.MaxInterval >= s.run.MinInterval:
		return nil
	case most == "default":
		return fmt.Errorf("%s: %s is more than max-interval (%s by default)", blame("min-interval", least), short(s.run.MinInterval), short(s.run.MaxInterval))
	default:
		return fmt.Errorf("%s: %s is less than min-interval (%s by %s)", blame("max-interval", most), short(s.run.MaxInterval), short(s.run.MinInterval), least)
	}
}
