package crawl

import (
	"context"
	"encoding/json"
)

// HalfCheck finishes what the hour's run did not. It obeys the kill flag, leaves a living run alone unless that stalls, resumes
// with the options of the run it finds unfinished, and does nothing, silently, when nothing is left. Of o it uses MaxFeeds, where no run
// is unfinished, and Deadline.
func HalfCheck(ctx context.Context, cfg Config, o RunOptions) (Summary, error) {
	s, err := begin(ctx, cfg, kindHalfCheck)
	if err != nil {
		return Summary{}, err
	}
	if s.lock == nil {
		return s.sum, nil
	}
	s.options = RunOptions{MaxFeeds: o.MaxFeeds, Deadline: o.Deadline}
	return s.finish(ctx, s.halfCheck(ctx))
}

func (s *session) halfCheck(ctx context.Context) error {
	old, err := s.recover(ctx)
	if err != nil {
		return err
	}
	flag, err := s.flag(ctx)
	if err != nil {
		return err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		s.forced = flag.Forced
		s.takeOptions(flag.Options)
	}
	return s.wholeHour(ctx, old)
}

// takeOptions goes on with the options of the unfinished run, as far as they can be read.
func (s *session) takeOptions(text []byte) {
	if len(text) == 0 {
		return
	}
	var k kept
	if err := json.Unmarshal(text, &k); err != nil {
		s.cfg.Log.Warn("the options of the unfinished run cannot be read: going on without them")
		return
	}
	s.options.Refetch, s.options.MaxFeeds = k.Refetch, k.MaxFeeds
}
