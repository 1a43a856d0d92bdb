package cmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/store"
)

type runOptions struct {
	crawl.RunOptions
	dryRun, failIfRunning bool
}

func newRun(p program) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:        "run",
		SuggestFor: []string{"update", "fetch", "refresh"},
		Short:      "the hourly run: fetch what is due and store what is new",
		Args:       takes(0, 0, ""),
	}
	c.RunE = p.with(func(ctx context.Context, a *app, _ []string) error {
		for _, other := range []string{"feed", "failed"} {
			if err := exclusive(c, "category", other); err != nil {
				return err
			}
		}
		return runRun(ctx, a, o)
	})
	flags := c.Flags()
	flags.BoolVar(&o.Force, "force", false, "fetch also what is done this hour or not due")
	flags.StringArrayVar(&o.Categories, "category", nil, "only the category `NAME` (repeatable)")
	flags.StringArrayVar(&o.Feeds, "feed", nil, "only this `FEED`, by id or URL (repeatable)")
	flags.BoolVar(&o.Failed, "failed", false, "only feeds whose last fetch failed")
	flags.BoolVar(&o.Refetch, "refetch", false, "ask for whole documents, as if nothing were known of them")
	flags.BoolVar(&o.dryRun, "dry-run", false, "say what would be fetched or skipped and why; no network, no writes")
	flags.BoolVar(&o.failIfRunning, "fail-if-running", false, "exit with 6 if another process works on this hour")
	addSettings(flags, forFetch|forInvoked)
	return c
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	o.MaxFeeds, o.Deadline = a.maxFeeds, a.deadline
	for i, ref := range o.Feeds {
		o.Feeds[i] = feedRef(ref)
	}
	if o.dryRun {
		return dryRun(ctx, a, o.RunOptions)
	}
	return a.invoke(o.failIfRunning, func(cfg crawl.Config) (crawl.Summary, error) {
		return crawl.Run(ctx, cfg, o.RunOptions)
	})
}

// invoke does an hour's work, with a progress bar on a terminal, and says how it ended.
func (a *app) invoke(failIfRunning bool, work func(crawl.Config) (crawl.Summary, error)) error {
	a.tuneCollector()
	cfg := a.crawlConfig()
	bars := newProgress(a)
	cfg.Progress = bars.callback()
	summary, err := work(cfg)
	bars.end()
	if err != nil {
		return err
	}
	return a.report(summary, failIfRunning)
}

// tuneCollector collects less often than Go does by itself, for documents come and go, but keeps the whole within what a small
// machine has to spare: beyond this limit it collects more often rather than grow, and takes half of the time at most.
func (a *app) tuneCollector() {
	if _, set := a.env("GOGC"); !set {
		debug.SetGCPercent(300)
	}
	if _, set := a.env("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(112 << 20)
	}
}

// report says how an invocation ended, and turns that into the error that has its exit code. That of the run comes before that of
// its summary.
func (a *app) report(s crawl.Summary, failIfRunning bool) error {
	var unprinted error
	if a.json {
		if err := a.printJSON(s); err != nil {
			unprinted = fmt.Errorf("print the summary: %w", err)
		}
	}
	if err := a.verdict(s, failIfRunning); err != nil {
		return err
	}
	return unprinted
}

// verdict tells how an invocation ended.
func (a *app) verdict(s crawl.Summary, failIfRunning bool) error {
	a.log.Info("finished", summaryAttributes(s)...)
	switch s.Outcome {
	case crawl.Done:
		a.sayUnlessLogged(summaryLine(s))
	case crawl.Nothing:
		a.sayUnlessLogged(cmp.Or(s.Reason, "nothing to do"))
	case crawl.Running:
		text := cmp.Or(s.Reason, "another process works on this hour")
		if failIfRunning {
			return &outcomeError{s.Outcome, text}
		}
		a.sayUnlessLogged(text)
	case crawl.Unfinished:
		text := "unfinished: " + cmp.Or(s.Reason, "the deadline was reached")
		hint := s.Hint
		if s.Resumable {
			hint = "crawl half-check goes on at once, for those who cannot wait for cron"
		}
		return &hintedError{&outcomeError{s.Outcome, text}, hint}
	case crawl.Outage:
		text := "outage: " + cmp.Or(s.Reason, "our own network looked down")
		return &hintedError{&outcomeError{s.Outcome, text}, cmp.Or(s.Hint, "see whether this machine has a route and a resolver")}
	default:
		return &outcomeError{s.Outcome, cmp.Or(s.Reason, s.Outcome)}
	}
	return nil
}

// sayUnlessLogged tells a terminal what the log does not already show.
func (a *app) sayUnlessLogged(text string) {
	if !a.verbose {
		a.say("%s", text)
	}
}

func summaryLine(s crawl.Summary) string {
	f := s.Feeds
	parts := []string{store.Count(f.Fetched, "feed") + " fetched"}
	for _, part := range []struct {
		n    int
		what string
	}{{f.Changed, "changed"}, {f.Unchanged, "unchanged"}, {f.Failed, "failed"}, {f.Throttled, "throttled"},
		{f.Deferred, "deferred"}, {f.Left, "left"}, {f.Stopped, "stopped"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return fmt.Sprintf("%s; %s new, %d updated; %s, %s, %.1f s", strings.Join(parts, ", "),
		store.Count(s.Items.New, "item"), s.Items.Updated, store.Count(s.Requests, "request"), roughSize(s.Bytes), s.Seconds)
}

// summaryAttributes are the summary line of the log.
func summaryAttributes(s crawl.Summary) []any {
	f := s.Feeds
	attributes := []any{"outcome", s.Outcome, "kind", s.Kind, "hour", stamp(s.Hour)}
	if s.Run != nil {
		attributes = append(attributes, "run", *s.Run)
	}
	if s.Reason != "" {
		attributes = append(attributes, "reason", s.Reason)
	}
	attributes = append(attributes, "fetched", f.Fetched, "changed", f.Changed, "unchanged", f.Unchanged, "failed", f.Failed,
		"throttled", f.Throttled, "deferred", f.Deferred, "left", f.Left, "stopped", f.Stopped,
		"new", s.Items.New, "updated", s.Items.Updated, "requests", s.Requests, "bytes", s.Bytes, "seconds", s.Seconds)
	if len(s.Whole) > 0 {
		attributes = append(attributes, slog.String("parsed_whole", wholeDocuments(s.Whole)))
	}
	return attributes
}

// wholeDocuments lists why documents could not be cut, the most frequent reason first.
func wholeDocuments(whole map[string]int) string {
	var reasons []string
	for reason := range whole {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int {
		if whole[a] != whole[b] {
			return whole[b] - whole[a]
		}
		return strings.Compare(a, b)
	})
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", whole[reason], reason)
	}
	return strings.Join(reasons, ", ")
}

// planned is one line of `run --dry-run --json`.
type planned struct {
	ID       int64  `json:"id"`
	URL      string `json:"url"`
	Category string `json:"category"`
	Fetch    bool   `json:"fetch"`
	Reason   string `json:"reason"`
}

func dryRun(ctx context.Context, a *app, o crawl.RunOptions) error {
	if err := crawl.CheckPresent(a.crawlConfig()); err != nil {
		return err
	}
	plan, err := crawl.Plan(ctx, a.crawlConfig(), o)
	if err != nil {
		return err
	}
	lines := []planned{}
	t := newTable("", "ID", "CATEGORY", "URL", "WHY")
	for _, p := range plan {
		what := "skip"
		if p.Fetch {
			what = "fetch"
		}
		t.add(what, fmt.Sprint(p.Feed.ID), p.Feed.Category, p.Feed.URL, p.Reason)
		lines = append(lines, planned{p.Feed.ID, p.Feed.URL, p.Feed.Category, p.Fetch, p.Reason})
	}
	if a.json {
		return a.printJSON(lines)
	}
	return t.print(a.program)
}
