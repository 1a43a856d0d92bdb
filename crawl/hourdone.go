package crawl

import (
	"context"
	"errors"

	"crawl/state"
	"crawl/store"
)

// HourDone is what monitors ask: which categories are settled for this hour (by a snapshot that is in the database), and whether
// the hour is complete: all of them with active feeds are, no run of it is unfinished, and no step of it has failed. It changes nothing.
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
	if settled, err = s.settled(ctx); err != nil {
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
		complete = complete && (c.Active == 0 || settled[c.ID])
	}
	for _, st := range failed {
		complete = complete && !st.Hour.Equal(s.hour)
	}
	return settled, complete, nil
}

// settled are the categories whose snapshot of this hour is complete and merged.
func (s *session) settled(ctx context.Context) (map[int64]bool, error) {
	done, err := s.doneCategories(ctx)
	if err != nil {
		return nil, err
	}
	merged, err := s.store.MergedSnapshots(ctx, s.dir.ID)
	if err != nil {
		return nil, err
	}
	settled := map[int64]bool{}
	for id, info := range done {
		settled[id] = merged[id].ID == info.Closing.ID
	}
	return settled, nil
}
