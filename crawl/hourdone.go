package crawl

import (
	"context"
	"errors"
	"time"

	"crawl/state"
	"crawl/store"
)

// HourDone is what monitors ask: which categories are settled for this hour (by a snapshot that is in the database), and whether
// the hour is complete: all of them with active feeds are, no run of it is unfinished, and no step of it has failed. Feeds that came after
// the last run count as little in a category of their own as in one that is settled. It changes nothing.
func HourDone(ctx context.Context, cfg Config, dir *state.Dir, db *store.Store) (settled map[int64]bool, complete bool, err error) {
	s := &session{cfg: cfg, hour: cfg.hour(), dir: dir, store: db}
	flag, err := dir.LookFlag()
	var damaged *state.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, false, err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		s.forced = flag.Forced
	}
	settled, last, err := s.settled(ctx)
	if err != nil {
		return nil, false, err
	}
	cats, err := db.Categories(ctx)
	if err != nil {
		return nil, false, err
	}
	failed, err := db.FailedSteps(ctx, dir.ID)
	if err != nil {
		return nil, false, err
	}
	complete = flag == nil && damaged == nil
	for _, c := range cats {
		late := !last.IsZero() && c.DueAtOnce == c.Active && c.Since.After(last)
		complete = complete && (c.Active == 0 || settled[c.ID] || late)
	}
	for _, st := range failed {
		complete = complete && !st.Hour.Equal(s.hour)
	}
	return settled, complete, nil
}

// settled are the categories whose snapshot of this hour is complete and merged. last is when the last run that wrote one began; zero if
// none did.
func (s *session) settled(ctx context.Context) (settled map[int64]bool, last time.Time, err error) {
	done, err := s.doneCategories(ctx)
	if err != nil {
		return nil, last, err
	}
	merged, err := s.store.MergedSnapshots(ctx, s.dir.ID)
	if err != nil {
		return nil, last, err
	}
	settled = map[int64]bool{}
	for id, info := range done {
		settled[id] = merged[id].ID == info.Closing.ID
		if settled[id] && info.Started.After(last) {
			last = info.Started
		}
	}
	return settled, last, nil
}
