package crawl

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"crawl/state"
	"crawl/store"
)

// HourState is what monitors ask of an hour.
type HourState struct {
	Settled map[int64]bool // categories, by a snapshot of the hour that is in the database
	Left    int            // active feeds that the half-check left when it ended the hour, and that nobody has fetched since
	// Complete: all categories with active feeds are settled and nothing is left, no run of the hour is unfinished, and no step of it has
	// failed.
	Complete bool
}

// HourDone gives the state of this hour. What came, or came to life, once the hour's run had begun counts as little in a category of its own as
// in one that is settled: it is the half-check's. It changes nothing.
func HourDone(ctx context.Context, cfg Config, dir *state.Dir, db *store.Store) (h HourState, err error) {
	s := &session{cfg: cfg, hour: cfg.hour(), dir: dir, store: db}
	flag, err := dir.LookFlag()
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return h, err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		s.forced = flag.Forced
	}
	done, err := s.doneCategories(ctx)
	if err != nil {
		return h, err
	}
	merged, err := db.MergedSnapshots(ctx, dir.ID)
	if err != nil {
		return h, err
	}
	whole, err := s.wholeDone(ctx)
	if err != nil {
		return h, err
	}
	if h.Left, err = s.left(ctx, done); err != nil {
		return h, err
	}
	cats, err := db.Categories(ctx)
	if err != nil {
		return h, err
	}
	failed, err := db.FailedSteps(ctx, dir.ID)
	if err != nil {
		return h, err
	}
	h.Settled = map[int64]bool{}
	h.Complete = flag == nil && damaged == nil && h.Left == 0
	for _, c := range cats {
		info, isDone := done[c.ID]
		h.Settled[c.ID] = isDone && merged[c.ID].ID == info.Closing.ID
		late := whole && !isDone && !merged[c.ID].Hour.Equal(s.hour) // a run settles what it finds: this was not there
		h.Complete = h.Complete && (c.Active == 0 || h.Settled[c.ID] || late)
	}
	for _, st := range failed {
		h.Complete = h.Complete && !st.Hour.Equal(s.hour)
	}
	return h, nil
}

// wholeDone tells whether a run of the whole hour has come to its end, and not one of some categories or feeds alone, from which the rows of
// runs do not tell it: the steps that are due once an hour of whole runs are done.
func (s *session) wholeDone(ctx context.Context) (bool, error) {
	for _, st := range s.afterMerge() {
		if st.due != nil {
			continue
		}
		if done, err := s.store.StepDone(ctx, s.dir.ID, s.hour, st.name); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// mayHaveLeft tells whether a half-check may have ended this hour with feeds left: the runs know that. Of which feeds stands in the snapshots,
// whatever was fetched since. Without such a half-check what is noted there is what this machine itself could not fetch, as a run has told.
func (s *session) mayHaveLeft(ctx context.Context) (bool, error) {
	runs, err := s.store.RunsOf(ctx, s.dir.ID, s.hour)
	mayHave := func(r store.Run) bool { return r.Kind == kindHalfCheck && r.Outcome != Done } // it may have died thereafter
	return slices.ContainsFunc(runs, mayHave), err
}

// left counts the active feeds that a half-check noted as left when it ended the hour, and that have had no outcome since. It takes a
// damaged snapshot from those that are done: a run that comes to it does so too.
func (s *session) left(ctx context.Context, done map[int64]state.Info) (n int, err error) {
	if may, err := s.mayHaveLeft(ctx); err != nil || !may {
		return 0, err
	}
	began := map[int64]time.Time{} // when the work began that left them
	for category, info := range done {
		noted, err := s.notedIn(ctx, info, store.Left)
		if err != nil {
			return 0, err
		}
		if noted == nil {
			delete(done, category)
		}
		for id := range noted {
			if info.Started.After(began[id]) {
				began[id] = info.Started
			}
		}
	}
	feeds, err := s.store.Feeds(ctx, store.Filter{IDs: slices.AppendSeq([]int64{}, maps.Keys(began))})
	for _, f := range feeds {
		since := !f.LastFetchedAt.Before(began[f.ID]) || !f.LastErrorAt.Before(began[f.ID]) // not before a run was forced
		since = since && f.FetchedHour.Equal(s.hour) && !f.NextFetchAt.IsZero()             // not while a clock was ahead, or before a resume
		if f.Status == "active" && !since {
			n++
		}
	}
	return n, err
}
