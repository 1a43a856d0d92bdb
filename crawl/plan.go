package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// Planned is one feed as `run --dry-run` shows it.
type Planned struct {
	Feed   store.Feed
	Fetch  bool
	Reason string // why it would be fetched or skipped
}

// Plan says what a run would do now. No network, no writes.
func Plan(ctx context.Context, cfg Config, o RunOptions) ([]Planned, error) {
	dir, db, err := OpenStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	s := &session{cfg: cfg, kind: kindRun, start: cfg.Now(), hour: cfg.hour(), options: o, dir: dir, store: db}
	flag, err := dir.LookFlag()
	var damaged *state.DamagedError
	if errors.As(err, &damaged) {
		cfg.Log.Warn("the flag of the last run cannot be read; the next run sets it aside and goes on without it",
			slog.String("path", damaged.Path), slog.String("reason", damaged.Reason))
	} else if err != nil {
		return nil, err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		s.forced = flag.Forced
	}
	if o.Force {
		s.forced = s.start
	}
	feeds, err := s.plannedFeeds(ctx)
	if err != nil {
		return nil, err
	}
	done, err := s.doneCategories(ctx)
	if err != nil {
		return nil, err
	}
	deferred, err := s.deferredOf(ctx, feeds, done)
	if err != nil {
		return nil, err
	}
	out := make([]Planned, len(feeds))
	for i, f := range feeds {
		_, categoryDone := done[f.CategoryID]
		out[i] = s.plan(f, categoryDone, f.NextFetchAt.IsZero() && deferred[f.CategoryID][f.ID])
	}
	capPlan(out, o.MaxFeeds)
	return out, nil
}

// capPlan leaves to the next hour what a cap leaves to it: domains and hosts take turns, the longest waiting first.
func capPlan(plan []Planned, n int) {
	var tasks []*task
	for i := range plan {
		if f := &plan[i].Feed; plan[i].Fetch {
			tasks = append(tasks, &task{
				Candidate: store.Candidate{ID: f.ID, URL: f.URL, LastAttemptAt: f.LastAttemptAt}, host: fetch.Host(f.URL), order: i,
			})
		}
	}
	_, rest := chooseTurns(tasks, n)
	for _, t := range rest {
		plan[t.order].Fetch, plan[t.order].Reason = false, fmt.Sprintf("beyond --max-feeds %d: first in the next hour", n)
	}
}

func (s *session) plannedFeeds(ctx context.Context) ([]store.Feed, error) {
	if s.loose() {
		ids, err := s.named(ctx)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		return s.store.Feeds(ctx, store.Filter{IDs: ids})
	}
	cats, err := s.chosenCategories(ctx)
	if err != nil {
		return nil, err
	}
	var out []store.Feed
	for _, c := range cats {
		feeds, err := s.store.Feeds(ctx, store.Filter{Category: c.Name})
		if err != nil {
			return nil, err
		}
		out = append(out, feeds...)
	}
	return out, nil
}

// doneCategories are those whose snapshot settles this hour, with that snapshot.
func (s *session) doneCategories(ctx context.Context) (map[int64]state.Info, error) {
	infos, _, err := s.dir.Look()
	if err != nil {
		return nil, err
	}
	epoch, err := s.store.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	done := map[int64]state.Info{}
	for _, info := range infos {
		if info.Complete && info.Host == s.dir.ID && info.Epoch == epoch && s.isDone(info) {
			done[info.Category] = info
		}
	}
	return done, nil
}

// deferredOf lists by category the feeds that a snapshot leaves to the next hour, and takes a damaged one from those that are done. It reads
// what a run would read.
func (s *session) deferredOf(ctx context.Context, feeds []store.Feed, done map[int64]state.Info) (map[int64]map[int64]bool, error) {
	left, err := s.mayHaveLeft(ctx)
	if err != nil {
		return nil, err
	}
	deferred := map[int64]map[int64]bool{}
	for _, f := range feeds {
		info, isDone := done[f.CategoryID]
		if !isDone || deferred[f.CategoryID] != nil || f.Status != "active" || !f.NextFetchAt.IsZero() && !left {
			continue
		}
		noted, err := s.notedIn(ctx, info, store.Deferred)
		if err != nil {
			return nil, err
		}
		if deferred[f.CategoryID] = noted; noted == nil {
			delete(done, f.CategoryID)
		}
	}
	return deferred, nil
}

// plan gives the verdict on one feed in the words of the design. The claim's own conditions decide in the end.
func (s *session) plan(f store.Feed, categoryDone, deferred bool) Planned {
	p := Planned{Feed: f}
	named := s.loose()
	switch {
	case f.Status == "stopped":
		p.Reason = "stopped: " + f.StoppedReason
	case f.RetryAfterUntil.After(s.start):
		p.Reason = "asked for quiet until " + f.RetryAfterUntil.Format(time.RFC3339)
	case named:
		p.Fetch, p.Reason = true, "named"
	case s.options.Force:
		p.Fetch, p.Reason = true, "forced"
	case deferred:
		p.Reason = "left to the next hour, in which it is first"
	case f.NextFetchAt.IsZero():
		p.Fetch, p.Reason = true, "due at once"
	case categoryDone:
		p.Reason = "its category is done this hour"
	case f.FetchedHour.Equal(s.hour):
		p.Reason = "already fetched this hour"
	case unpackHints(f.Schedule).exclude(s.start):
		p.Reason = "its document excludes this hour or day"
	case f.LastAttemptAt.After(s.start):
		p.Fetch, p.Reason = true, "the clock went back since "+f.LastAttemptAt.Format(time.RFC3339)
	case f.NextFetchAt.After(s.start.Add(grace)):
		p.Reason = "not due before " + f.NextFetchAt.Format(time.RFC3339)
	default:
		p.Fetch, p.Reason = true, "due since "+f.NextFetchAt.Format(time.RFC3339)
	}
	return p
}
