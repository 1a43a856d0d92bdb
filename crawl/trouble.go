package crawl

import (
	"context"
	"log/slog"

	"crawl/store"
)

// manyStopped is how many feeds one run may stop without a warning; up to a tenth of all that were active it may in any case.
const manyStopped = 3

// tellTrouble says what no operator should find out days later. That some feeds fail and are stopped is every hour's business; that
// many are stopped at once, or that all fail or are throttled, is not.
func (s *session) tellTrouble(ctx context.Context) error {
	f := s.sum.Feeds
	if s.starved > 0 {
		s.cfg.Log.Warn("feeds are left to the next hour, for large bodies that came slowly held all memory for bodies", slog.Int("feeds", s.starved))
	}
	if f.Stopped == 0 && f.Failed == 0 && f.Throttled == 0 {
		return nil
	}
	cats, err := s.store.Categories(ctx)
	if err != nil {
		return err
	}
	all := totals(cats)
	const stopped = "feeds were stopped and get no more requests; crawl list --stopped says why"
	many := f.Stopped > manyStopped && 10*f.Stopped > all.Active+f.Stopped
	none := f.Failed+f.Throttled > 0 && all.Failing+all.Throttled == all.Active && all.Active >= outageDomains
	if f.Stopped > 0 && !many {
		s.cfg.Log.Info(stopped, slog.Int("stopped", f.Stopped))
	}
	switch {
	case many:
		s.cfg.Log.Warn(stopped, slog.Int("stopped", f.Stopped))
	case none && all.Throttled > 0:
		s.cfg.Log.Warn("every active feed is throttled by its server or failing; crawl list says why",
			slog.Int("feeds", all.Active), slog.Int("throttled", all.Throttled))
	case none:
		s.cfg.Log.Warn("every active feed is failing; crawl list --failing says why", slog.Int("feeds", all.Active))
	}
	return nil
}

// whyNoFeed says why there is no feed to fetch in the categories that the options choose, and what brings some.
func (s *session) whyNoFeed(ctx context.Context) (string, error) {
	cats, err := s.chosenCategories(ctx)
	if totals(cats).Stopped > 0 {
		return "there is no active feed; crawl list --stopped says why, and crawl resume starts them again", err
	}
	return "there is no active feed; crawl add or crawl import brings some", err
}

// totals counts the feeds of categories.
func totals(cats []store.Category) (all store.Category) {
	for _, c := range cats {
		all.Active += c.Active
		all.Failing += c.Failing
		all.Throttled += c.Throttled
		all.Stopped += c.Stopped
	}
	return all
}
