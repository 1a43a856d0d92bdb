package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"crawl/crawl"
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
		Args:  takes(0, 0, ""),
		RunE:  p.with(func(ctx context.Context, a *app, _ []string) error { return runStatus(ctx, a, o) }),
	}
	c.Flags().BoolVar(&o.check, "check", false, "for monitors: exit with 0 while a run makes progress, or once this hour is complete and no kill flag is up; else 1, and 2 and 7 as elsewhere")
	return c
}

// status is what is known of this hour. Its JSON is `status --json`.
type status struct {
	Hour       string           `json:"hour"`
	Running    *shownHolder     `json:"running"`
	Flag       *shownFlag       `json:"flag"`
	Kill       *shownKill       `json:"kill"`
	Categories []statusCategory `json:"categories"`
	Runs       []statusRun      `json:"runs"`
	Steps      []failedStep     `json:"failed_steps"`
	Feeds      struct {
		Active    int `json:"active"`
		Failing   int `json:"failing"`
		Throttled int `json:"throttled"`
		Stopped   int `json:"stopped"`
	} `json:"feeds"`
	Epoch    *int64 `json:"epoch"`
	Complete bool   `json:"complete"`

	host     string // of this directory
	holder   *state.Holder
	flag     *state.Flag
	damaged  bool // the flag is
	kill     *state.Kill
	left     int          // feeds that the half-check left
	last     *statusRun   // that of the flag, else the last of this hour; nil: none
	hook     bool         // one is set
	troubled []store.Feed // stopped and failing ones
}

// failedStep is a step after the merge that failed when it was tried last.
type failedStep struct {
	Name  string `json:"name"`
	Hour  string `json:"hour"`
	Error string `json:"error"`
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
	Reason     *string `json:"reason"` // why the outcome is not done
	Fetched    int     `json:"fetched"`
	Failed     int     `json:"failed"`
	Throttled  int     `json:"throttled"`
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
	if crawl.NothingYet(err) && !o.check {
		return a.nothingYet(err)
	}
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

// nothingYet is the status of a machine on which nothing has been added.
func (a *app) nothingYet(err error) error {
	if !a.json {
		return a.tell("%v yet; %s", err, hint(err))
	}
	return a.printJSON(status{Hour: stamp(state.Hour(a.now(), a.run.StartMinute)), Categories: []statusCategory{}, Runs: []statusRun{}, Steps: []failedStep{}})
}

// status collects what is known.
func (a *app) status(ctx context.Context, d *state.Dir, db *store.Store) (s status, err error) {
	cfg := a.crawlConfig()
	if cfg.Settings.StartMinute, err = a.startMinute(d); err != nil {
		return s, err
	}
	hour := state.Hour(a.now(), cfg.Settings.StartMinute)
	s.Hour, s.host, s.hook = stamp(hour), d.ID, cfg.Settings.Hook != ""
	if s.holder, err = d.Holder(); err != nil {
		return s, err
	}
	var damaged *state.DamagedError
	if s.flag, err = d.LookFlag(); errors.As(err, &damaged) {
		s.damaged = true
		a.log.Warn("the flag of the last run cannot be read", "path", damaged.Path, "reason", damaged.Reason)
	} else if err != nil {
		return s, err
	}
	if s.kill, err = d.Kill(); err != nil {
		return s, err
	}
	s.Running, s.Flag, s.Kill = shownHolderOf(s.holder), shownFlagOf(s.flag), shownKillOf(s.kill)
	h, err := crawl.HourDone(ctx, cfg, d, db)
	if err != nil {
		return s, err
	}
	if s.last, err = s.lastRun(ctx, db, hour); err != nil {
		return s, err
	}
	s.left, s.Complete = h.Left, h.Complete
	return s, s.ask(ctx, db, h.Settled)
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
		s.Feeds.Active += c.Active
		s.Feeds.Failing += c.Failing
		s.Feeds.Throttled += c.Throttled
		s.Feeds.Stopped += c.Stopped
	}
	runs, err := db.Runs(ctx, statusRuns)
	if err != nil {
		return err
	}
	s.Runs = []statusRun{}
	for _, r := range runs {
		s.Runs = append(s.Runs, statusRunOf(r))
	}
	s.Steps = []failedStep{}
	steps, err := db.FailedSteps(ctx, s.host)
	if err != nil {
		return err
	}
	for _, step := range steps {
		s.Steps = append(s.Steps, failedStep{step.Name, stamp(step.Hour), step.Error})
	}
	epoch, err := db.Epoch(ctx)
	if err != nil {
		return err
	}
	s.Epoch = &epoch
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
		StartedAt: stamp(r.StartedAt), FinishedAt: nullTime(r.FinishedAt), Outcome: nullText(r.Outcome), Reason: nullText(r.Reason),
		Fetched: r.Counts.Fetched, Failed: r.Counts.Failed, Throttled: r.Counts.Throttled, Stopped: r.Counts.Stopped, Left: r.Counts.Left,
		New: r.Counts.ItemsNew, Updated: r.Counts.ItemsUpdated, Requests: r.Counts.Requests, Bytes: r.Counts.Bytes,
	}
}
