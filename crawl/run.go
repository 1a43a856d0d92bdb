package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"crawl/state"
	"crawl/store"
)

// Causes that end a run before its work is done.
var (
	errKilled   = errors.New("the kill flag is up")
	errDeadline = errors.New("the deadline is reached")
	errOutage   = errors.New("our own network looks down")
	errSignal   = errors.New("a signal came")
	errLeases   = errors.New("the process was stopped for longer than its leases last")
)

// outcomeError is the outcome of a run that an error ended.
const outcomeError = "error"

// Run is the hourly run. The error is for what is not an outcome: disk, database, wrong use.
func Run(ctx context.Context, cfg Config, o RunOptions) (Summary, error) {
	s, err := begin(ctx, cfg, kindRun)
	if err != nil {
		return Summary{}, err
	}
	if s.lock == nil {
		return s.sum, nil
	}
	s.options = o
	err = s.hourly(ctx)
	return s.finish(ctx, err)
}

// finish lets go and rounds off the summary.
func (s *session) finish(ctx context.Context, err error) (Summary, error) {
	if why := s.waitEnded(ctx, err); why != nil {
		err = s.judgeEnd(why)
	}
	err = errors.Join(err, s.end())
	s.sum.Seconds = s.cfg.Now().Sub(s.start).Seconds()
	return s.sum, err
}

// waitEnded gives what ended the wait for another program's lock, which says more than err; nil if nothing did.
func (s *session) waitEnded(ctx context.Context, err error) error {
	switch {
	case !errors.Is(err, store.ErrBusy):
		return nil
	case s.dir.Killed():
		return errKilled
	case ctx.Err() != nil:
		return errSignal
	}
	return nil
}

func (s *session) hourly(ctx context.Context) error {
	old, err := s.recover(ctx)
	if err != nil {
		return err
	}
	if s.loose() {
		return s.someFeeds(ctx)
	}
	flag, err := s.flag(ctx)
	if err != nil {
		return err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		s.forced = flag.Forced
	}
	if s.options.Force {
		s.forced = s.start
	}
	return s.wholeHour(ctx, old)
}

// wholeHour does what is left of the hour: the categories that are not done, then the steps that are due.
func (s *session) wholeHour(ctx context.Context, old found) error {
	cats, err := s.unfinished(ctx, old)
	if err != nil {
		return err
	}
	steps, err := s.dueSteps(ctx, s.sum.Categories.Skipped > 0 || len(cats) > 0)
	if err != nil {
		return err
	}
	if len(cats) == 0 && len(steps) == 0 {
		if s.recovered == 0 {
			s.sum.Reason = "all is done"
			if s.kind == kindRun && s.sum.Categories.Skipped == 0 {
				if s.sum.Reason, err = s.whyNoFeed(ctx); err != nil {
					return err
				}
				s.cfg.Log.Warn(s.sum.Reason)
			}
			return s.lowerFlag()
		}
	}
	return s.record(ctx, func(ctx context.Context) error {
		return s.fetchAll(ctx, cats)
	})
}

// record surrounds work with what tells others of it: the flag, the row in runs, the kill watch, the steps that follow.
func (s *session) record(ctx context.Context, work func(context.Context) error) error {
	err := s.store.CheckDamage(ctx)
	if err != nil {
		return err
	}
	if s.run, err = s.store.StartRun(ctx, store.Run{Host: s.dir.ID, Kind: s.kind, Hour: s.hour, StartedAt: s.start}); err != nil {
		return err
	}
	s.sum.Run = &s.run
	s.cfg.point("run-started")
	if err = s.lock.Note(s.holder()); err != nil {
		return err
	}
	if err = s.raiseFlag(); err != nil {
		return err
	}
	watched, stop := s.watch(ctx)
	defer stop(nil)
	err = work(watched)
	if err == nil || errors.Is(err, errDeadline) && s.kind == kindHalfCheck {
		stepCtx := watched
		if err != nil { // the half-check's deadline ends the fetching and the hour, not the steps
			s.closedEarly = true
			var stopSteps context.CancelCauseFunc
			stepCtx, stopSteps = s.watchKill(ctx)
			defer stopSteps(nil)
		}
		err = s.steps(stepCtx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		err = errSignal // whoever made ctx ended it
	}
	if why := s.waitEnded(ctx, err); why != nil {
		err = why
	}
	return s.close(context.WithoutCancel(ctx), err)
}

// close gives the run its outcome. What is an outcome is no error.
func (s *session) close(ctx context.Context, err error) error {
	if gone := s.store.CheckInPlace(); gone != nil && !errors.Is(err, store.ErrReplaced) {
		err = fmt.Errorf("run %d: %w", s.run, gone)
	}
	if errors.Is(err, store.ErrReplaced) {
		return s.judgeEnd(err) // there is nothing to record it in
	}
	if err = s.judgeEnd(err); err == nil {
		if err = s.keepSeq(ctx); err != nil {
			err = s.judgeEnd(err)
		}
	}
	run := store.Run{
		ID: s.run, Host: s.dir.ID, Kind: s.kind, Hour: s.hour, StartedAt: s.start, FinishedAt: s.cfg.Now(),
		Outcome: s.sum.Outcome, Reason: s.sum.Reason, Counts: s.counts(),
	}
	err = errors.Join(err, s.store.FinishRun(ctx, run))
	s.cfg.point("run-finished")
	if err != nil {
		return err
	}
	if err := s.tellTrouble(ctx); err != nil {
		return err
	}
	if s.sum.Outcome == Done || s.closedEarly {
		return s.lowerFlag()
	}
	return nil
}

// LeftHint is what can be done about feeds that the half-check left.
const LeftHint = "crawl run fetches at once those of them that are new, and with --force all feeds; the next hour fetches those that are due; " +
	"a longer --deadline or more --workers may leave less"

// judgeEnd tells the outcomes from the errors, and puts the outcome and its reason into the summary.
func (s *session) judgeEnd(err error) (rest error) {
	sum := &s.sum
	sum.Outcome, sum.Reason, sum.Hint, sum.Resumable = Unfinished, "", "", false
	switch {
	case err == nil && s.closedEarly:
		sum.Reason, sum.Hint = "the deadline is reached; it leaves "+store.Count(sum.Feeds.Left, "feed"), LeftHint
	case err == nil:
		sum.Outcome = Done
	case errors.Is(err, errOutage):
		var outage *outageError
		if errors.As(err, &outage) {
			sum.Hint = outage.hint
		}
		sum.Outcome, sum.Reason = Outage, err.Error()+"; nothing was counted against the feeds; "+s.heir("tries again")
	case errors.Is(err, errDeadline):
		sum.Reason, sum.Resumable = "the deadline is reached; "+s.heir("goes on"), s.resumable()
	case errors.Is(err, errLeases):
		sum.Reason, sum.Resumable = errLeases.Error()+"; "+s.heir("goes on"), s.resumable()
	case errors.Is(err, errKilled):
		sum.Outcome, sum.Reason = Killed, "stopped by the kill flag"
	case errors.Is(err, context.Canceled), errors.Is(err, errSignal):
		sum.Outcome, sum.Reason = Killed, "stopped by a signal"
	default:
		sum.Outcome, sum.Reason = outcomeError, reason(err)
		return err
	}
	return nil
}

// heir says who does what this session leaves.
func (s *session) heir(does string) string {
	switch {
	case s.loose():
		return "a run fetches what is left when it is due"
	case s.kind == kindHalfCheck:
		return "the next run " + does
	}
	return "the half-check " + does
}

// resumable tells whether it is a half-check that goes on with what this session leaves.
func (s *session) resumable() bool { return !s.loose() && s.kind != kindHalfCheck }

// loose tells whether this is a run of some feeds, of which nothing is kept for a half-check.
func (s *session) loose() bool { return len(s.options.Feeds) > 0 || s.options.Failed }

// whole tells whether this is the hour's run, and not one of some categories or feeds.
func (s *session) whole() bool {
	return len(s.options.Categories) == 0 && !s.loose()
}

// raiseFlag says on disk that a run of a whole hour has begun.
func (s *session) raiseFlag() error {
	if !s.whole() {
		return nil
	}
	options, err := json.Marshal(kept{Refetch: s.options.Refetch, MaxFeeds: s.options.MaxFeeds})
	if err != nil {
		return err
	}
	return s.dir.SetFlag(state.Flag{
		Run: s.run, Hour: s.hour, Kind: s.kind, Started: s.start, Forced: s.forced, Options: options,
	})
}

// kept is what the flag remembers of a run's options for the half-check that resumes it; the forced start has its own field.
type kept struct {
	Refetch  bool `json:"refetch,omitempty"`
	MaxFeeds int  `json:"max_feeds,omitempty"`
}

func (s *session) lowerFlag() error {
	if !s.whole() {
		return nil
	}
	return s.dir.ClearFlag()
}

// watch ends its context, with the cause, when the kill flag goes up or the deadline is reached.
func (s *session) watch(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := s.watchKill(ctx)
	if s.options.Deadline > 0 {
		timer := time.AfterFunc(s.options.Deadline, func() { stop(errDeadline) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	}
	return ctx, stop
}

func (s *session) watchKill(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if s.dir.Killed() {
				stop(errKilled)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx, stop
}

// fetchAll fetches categories with a pool of their own.
func (s *session) fetchAll(ctx context.Context, cats []*category) error {
	if len(cats) == 0 {
		return nil
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.cfg.Settings.Workers = s.affordableWorkers()
	tasks, rest, err := s.choose(ctx, cats)
	if err != nil {
		return err
	}
	s.cfg.Log.Info("begin", slog.Int64("run", s.run), slog.Time("hour", s.hour), slog.Int("categories", len(cats)), slog.Int("feeds", len(tasks)))
	p := newPool(s, cats)
	if s.kind == kindHalfCheck {
		if p.heard, err = s.hasAnswered(ctx); err != nil {
			return err
		}
	}
	return p.run(ctx, tasks, rest)
}

// someFeeds fetches feeds that were named, or those that fail: no flag, no snapshots, results are merged as they come.
func (s *session) someFeeds(ctx context.Context) error {
	ids, err := s.named(ctx)
	if err != nil || len(ids) == 0 {
		s.sum.Reason = "no such feeds"
		return err
	}
	if err := s.tellLeftOut(ctx); err != nil {
		return err
	}
	return s.record(ctx, func(ctx context.Context) error {
		return s.fetchAll(ctx, []*category{{loose: true, Category: store.Category{Name: "feeds"}, ids: ids}})
	})
}

// tellLeftOut says of feeds that a person named why they will not be fetched all the same.
func (s *session) tellLeftOut(ctx context.Context) error {
	if len(s.options.Feeds) == 0 {
		return nil
	}
	feeds, err := s.plannedFeeds(ctx)
	if err != nil {
		return err
	}
	for _, f := range feeds {
		if p := s.plan(f, false, false); !p.Fetch {
			s.cfg.Log.Warn("a feed that was named is not fetched", slog.Int64("feed", f.ID), slog.String("reason", p.Reason))
		}
	}
	return nil
}

// named gives the ids of the feeds that the options name.
func (s *session) named(ctx context.Context) ([]int64, error) {
	var ids []int64
	for _, ref := range s.options.Feeds {
		f, err := s.store.FindFeed(ctx, ref)
		if err != nil {
			return nil, err
		}
		ids = append(ids, f.ID)
	}
	if s.options.Failed {
		feeds, err := s.store.Feeds(ctx, store.Filter{Failing: true})
		if err != nil {
			return nil, err
		}
		for _, f := range feeds {
			ids = append(ids, f.ID)
		}
	}
	return ids, nil
}
