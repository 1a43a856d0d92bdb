package crawl

import (
	"context"
	"encoding/json"
	"time"
)

// HalfCheck finishes what the hour's run did not. It obeys the kill flag, leaves a living run alone unless that stalls, resumes
// with the options of the run it finds unfinished, and does nothing, silently, when nothing is left.
func HalfCheck(ctx context.Context, cfg Config, deadline time.Duration) (Summary, error) {
	s, err := begin(ctx, cfg, kindHalfCheck)
	if err != nil {
		return Summary{}, err
	}
	if s.lock == nil {
		return s.sum, nil
	}
	s.options.Deadline = deadline
	return s.finish(ctx, s.halfCheck(ctx))
}

func (s *session) halfCheck(ctx context.Context) error {
	old, err := s.recover(ctx)
	if err != nil {
		return err
	}
	flag, err := s.dir.Flag()
	if err = s.ignoreDamage(err); err != nil {
		return err
	}
	if flag != nil && flag.Hour.Equal(s.hour) {
		var k kept
		if len(flag.Options) > 0 {
			if err := json.Unmarshal(flag.Options, &k); err != nil {
				s.cfg.Log.Warn("the options of the unfinished run cannot be read: going on without them")
			}
		}
		s.forced, s.options.Refetch, s.options.MaxFeeds = flag.Forced, k.Refetch, k.MaxFeeds
	}
	return s.wholeHour(ctx, old)
}
