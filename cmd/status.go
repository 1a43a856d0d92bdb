package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"crawl/crawl"
	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// statusRuns is how many of the last runs are shown.
const statusRuns = 10

type statusOptions struct{ check bool }

func newStatus(p program) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "what runs now, the last runs, this hour's categories, stopped and failing feeds with reasons",
		Args:  cobra.NoArgs,
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runStatus(ctx, a, o) }),
	}
	c.Flags().BoolVar(&o.check, "check", false, "for monitors: exit with 0 if this hour is complete and nothing is stuck, else 1")
	return c
}

// status is what is known of this hour. Its JSON is `status --json`.
type status struct {
	Hour       string           `json:"hour"`
	Running    *state.Holder    `json:"running"`
	Flag       *state.Flag      `json:"flag"`
	Kill       *state.Kill      `json:"kill"`
	Categories []statusCategory `json:"categories"`
	Runs       []statusRun      `json:"runs"`
	Feeds      struct {
		Active  int `json:"active"`
		Failing int `json:"failing"`
		Stopped int `json:"stopped"`
	} `json:"feeds"`
	Epoch    int64 `json:"epoch"`
	Complete bool  `json:"complete"`

	troubled []store.Feed // stopped and failing ones
}

// statusCategory is a category and whether this hour's work on it is done.
type statusCategory struct {
	listedCategory
	Done bool `json:"done"`
}

// statusRun is one of the last runs.
type statusRun struct {
	Run        int64   `json:"run"`
	Host       string  `json:"host"`
	Kind       string  `json:"kind"`
	Hour       string  `json:"hour"`
	StartedAt  string  `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
	Outcome    *string `json:"outcome"`
	Fetched    int     `json:"fetched"`
	Failed     int     `json:"failed"`
	Stopped    int     `json:"stopped"`
	Left       int     `json:"left"`
	New        int     `json:"new"`
	Updated    int     `json:"updated"`
	Requests   int     `json:"requests"`
	Bytes      int64   `json:"bytes"`
}

func runStatus(ctx context.Context, a *app, o statusOptions) error {
	var s status
	err := a.open(ctx, func(d *state.Dir, db *store.Store) (err error) {
		s, err = a.status(ctx, d, db)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case a.json:
		err = a.printJSON(s)
	case !o.check || a.terminal:
		err = s.print(a)
	}
	if err != nil || !o.check {
		return err
	}
	return s.judge(a)
}

// status collects what is known.
func (a *app) status(ctx context.Context, d *state.Dir, db *store.Store) (s status, err error) {
	hour, err := a.hour(d)
	if err != nil {
		return s, err
	}
	s.Hour = stamp(hour)
	if s.Running, err = d.Holder(); err != nil {
		return s, err
	}
	var damaged *state.DamagedError
	if s.Flag, err = d.Flag(); errors.As(err, &damaged) {
		a.log.Warn("the flag of the last run could not be read and is set aside", "path", damaged.Path, "reason", damaged.Reason)
	} else if err != nil {
		return s, err
	}
	if s.Kill, err = d.Kill(); err != nil {
		return s, err
	}
	cfg := a.crawlConfig()
	cfg.Settings.StartMinute = hour.In(a.now().Location()).Minute()
	settled, complete, err := crawl.HourDone(ctx, cfg, d, db)
	if err != nil {
		return s, err
	}
	s.Complete = complete
	return s, s.ask(ctx, db, settled)
}

// ask collects what the database knows.
func (s *status) ask(ctx context.Context, db *store.Store, settled map[int64]bool) error {
	categories, err := db.Categories(ctx)
	if err != nil {
		return err
	}
	s.Categories = []statusCategory{}
	for _, c := range categories {
		s.Categories = append(s.Categories, statusCategory{listedAs(c), settled[c.ID] || c.Active == 0})
	}
	runs, err := db.Runs(ctx, statusRuns)
	if err != nil {
		return err
	}
	s.Runs = []statusRun{}
	for _, r := range runs {
		s.Runs = append(s.Runs, statusRunOf(r))
	}
	totals, err := db.Totals(ctx)
	if err != nil {
		return err
	}
	s.Feeds.Active, s.Feeds.Failing, s.Feeds.Stopped = totals.Active, totals.Failing, totals.Stopped
	if s.Epoch, err = db.Epoch(ctx); err != nil {
		return err
	}
	for _, f := range []store.Filter{{Stopped: true}, {Failing: true}} {
		feeds, err := db.Feeds(ctx, f)
		if err != nil {
			return err
		}
		s.troubled = append(s.troubled, feeds...)
	}
	return nil
}

func statusRunOf(r store.Run) statusRun {
	return statusRun{
		Run: r.ID, Host: r.Host, Kind: r.Kind, Hour: stamp(r.Hour),
		StartedAt: stamp(r.StartedAt), FinishedAt: nullTime(r.FinishedAt), Outcome: nullText(r.Outcome),
		Fetched: r.Counts.Fetched, Failed: r.Counts.Failed, Stopped: r.Counts.Stopped, Left: r.Counts.Left,
		New: r.Counts.ItemsNew, Updated: r.Counts.ItemsUpdated, Requests: r.Counts.Requests, Bytes: r.Counts.Bytes,
	}
}

// judge is the verdict for monitors: an error where the hour is not complete or something is stuck.
func (s status) judge(a *app) error {
	var wrong []string
	switch {
	case s.Running != nil && a.now().Sub(s.Running.Progress) > a.run.StallAfter:
		wrong = append(wrong, whoWorks(*s.Running)+" has made no progress since "+stamp(s.Running.Progress))
	case s.Running == nil && s.Flag != nil:
		wrong = append(wrong, fmt.Sprintf("run %d of %s has not finished", s.Flag.Run, stamp(s.Flag.Hour)))
	}
	if s.Kill != nil {
		wrong = append(wrong, "the kill flag is up since "+stamp(s.Kill.At))
	}
	if !s.Complete && len(wrong) == 0 {
		wrong = append(wrong, "the hour that began at "+s.Hour+" is not complete")
	}
	if len(wrong) == 0 {
		return nil
	}
	return &hintedError{fmt.Errorf("%s", strings.Join(wrong, "; ")), "crawl status shows more; crawl half-check finishes what is left, crawl run ends a kill"}
}

// print shows the status to a person.
func (s status) print(a *app) error {
	err := a.print(func(w io.Writer) error {
		fmt.Fprintf(w, "hour      %s, %s\n", s.Hour, s.progress())
		fmt.Fprintf(w, "running   %s\n", runningText(s.Running, a.now()))
		if s.Kill != nil {
			fmt.Fprintf(w, "kill      the flag is up since %s; the next crawl run clears it\n", stamp(s.Kill.At))
		}
		_, err := fmt.Fprintf(w, "feeds     %d active, %d of them failing; %d stopped\n", s.Feeds.Active, s.Feeds.Failing, s.Feeds.Stopped)
		return err
	})
	if err != nil {
		return err
	}
	tables := []*table{s.categoryTable(), s.runTable()}
	if len(s.troubled) > 0 {
		tables = append(tables, feedTable(s.troubled, a.now(), fetch.Redact))
	}
	for _, t := range tables {
		if len(t.rows) < 2 {
			continue
		}
		if err := a.print(func(w io.Writer) error { _, err := fmt.Fprintln(w); return err }); err != nil {
			return err
		}
		if err := t.print(a.program); err != nil {
			return err
		}
	}
	return nil
}

func (s status) progress() string {
	if s.Complete {
		return "complete"
	}
	if s.Flag != nil {
		return fmt.Sprintf("not complete: %s %d of %s has not finished", s.Flag.Kind, s.Flag.Run, stamp(s.Flag.Hour))
	}
	return "not complete"
}

func runningText(h *state.Holder, now time.Time) string {
	if h == nil {
		return "nothing"
	}
	text := whoWorks(*h)
	if !h.Since.IsZero() {
		text += fmt.Sprintf(", since %s, last progress %s", stamp(h.Since), ago(h.Progress, now))
	}
	if h.Total > 0 {
		text += fmt.Sprintf(", %d of %s", h.Done, count(h.Total, "feed"))
	}
	return text
}

func (s status) categoryTable() *table {
	t := newTable("CATEGORY", "THIS HOUR", "FEEDS", "FAILING", "STOPPED")
	for _, c := range s.Categories {
		done := "to do"
		if c.Done {
			done = "done"
		}
		t.add(c.Name, done, fmt.Sprint(c.Feeds), fmt.Sprint(c.Failing), fmt.Sprint(c.Stopped))
	}
	return t
}

func (s status) runTable() *table {
	t := newTable("RUN", "KIND", "HOUR", "STARTED", "OUTCOME", "FETCHED", "FAILED", "NEW", "UPDATED")
	for _, r := range s.Runs {
		outcome := "under way"
		if r.Outcome != nil {
			outcome = *r.Outcome
		}
		t.add(fmt.Sprint(r.Run), r.Kind, r.Hour, r.StartedAt, outcome,
			fmt.Sprint(r.Fetched), fmt.Sprint(r.Failed), fmt.Sprint(r.New), fmt.Sprint(r.Updated))
	}
	return t
}
