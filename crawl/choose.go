package crawl

import (
	"context"
	"slices"
	"time"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// unfinished gives the categories that this hour still owes something, longest-waiting first, and counts those that are done.
func (s *session) unfinished(ctx context.Context, old found) ([]*category, error) {
	all, err := s.chosenCategories(ctx)
	if err != nil {
		return nil, err
	}
	left, err := s.mayHaveLeft(ctx)
	if err != nil {
		return nil, err
	}
	var out []*category
	for _, c := range all {
		if c.Active == 0 {
			continue
		}
		cat := &category{Category: c, header: s.header(c.ID)}
		if info, ok := old.complete[c.ID]; ok && s.isDone(info) {
			more, err := s.extend(ctx, cat, info, left)
			if err != nil {
				return nil, err
			}
			if !more {
				if part, ok := old.parts[c.ID]; ok { // of an extension that had all and was killed before its end
					if err := s.dir.Discard(part); err != nil {
						return nil, err
					}
				}
				s.sum.Categories.Skipped++
				continue
			}
		}
		if part, ok := old.parts[c.ID]; ok {
			if err := s.takeUp(ctx, cat, part); err != nil {
				return nil, err
			}
		}
		out = append(out, cat)
	}
	slices.SortStableFunc(out, func(a, b *category) int { return a.Oldest.Compare(b.Oldest) })
	return out, nil
}

// extend tells whether a category that is done has feeds which are due at once all the same (new, resumed, moved in) and prepares it for
// them. Those that its snapshot defers to the next hour count as done in this one. An extended one began when the first did, whose notes
// it has. A snapshot is read only where what it notes matters: for such feeds, or because a half-check may have left some. One that is
// damaged settles nothing.
func (s *session) extend(ctx context.Context, cat *category, done state.Info, left bool) (bool, error) {
	if cat.DueAtOnce == 0 && !left {
		return false, nil
	}
	noted, err := s.notedIn(ctx, done, store.Deferred)
	if err != nil || noted == nil {
		return true, err
	}
	cat.base, cat.had, cat.header.Started = &done, noted, done.Started
	due, err := s.store.Candidates(ctx, cat.ID, s.due(cat))
	return slices.ContainsFunc(due, func(c store.Candidate) bool { return !cat.had[c.ID] }), err
}

// takeUp goes on with the part of this hour, unless it is older than the forced start: then all of it is to be asked again. Of an
// extension only those feeds count that are left to the next hour: the others' lines may be of before they became due again.
func (s *session) takeUp(ctx context.Context, cat *category, part state.Info) error {
	if part.Started.Before(s.forced) {
		return s.dir.Discard(part)
	}
	had, err := s.feedsIn(ctx, part, func(line state.Line) bool { return cat.base == nil || isNote(line, store.Deferred) })
	if had != nil {
		cat.had = had
	}
	return err
}

// notedIn lists the feeds that a snapshot notes as left out with an outcome; nil if it is damaged.
func (s *session) notedIn(ctx context.Context, info state.Info, outcome string) (map[int64]bool, error) {
	return s.feedsIn(ctx, info, func(line state.Line) bool { return isNote(line, outcome) })
}

// feedsIn lists the feeds of those lines of a snapshot or part that count; nil if it is damaged, which is dealt with then.
func (s *session) feedsIn(ctx context.Context, info state.Info, counts func(state.Line) bool) (map[int64]bool, error) {
	feeds := map[int64]bool{}
	for line, err := range s.dir.Read(info) {
		if err != nil {
			_, err = s.contain(ctx, err)
			return nil, err
		}
		if counts(line) {
			feeds[line.Feed] = true
		}
	}
	return feeds, nil
}

// isDone tells whether a complete snapshot settles its category for this hour.
func (s *session) isDone(info state.Info) bool {
	return info.Header.Hour.Equal(s.hour) && !info.Started.Before(s.forced)
}

func (s *session) header(category int64) state.Header {
	return state.Header{Category: category, Hour: s.hour, Host: s.dir.ID, Epoch: s.epoch, Run: s.run, Started: s.start}
}

// chosenCategories are those that the options name, each once, else all.
func (s *session) chosenCategories(ctx context.Context) ([]store.Category, error) {
	if len(s.options.Categories) == 0 {
		return s.store.Categories(ctx)
	}
	var out []store.Category
	for _, name := range s.options.Categories {
		found, err := s.store.FindCategory(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out, func(c store.Category) bool { return c.ID == found.ID }) {
			out = append(out, found)
		}
	}
	return out, nil
}

// due says which feeds of a category may be fetched now.
func (s *session) due(c *category) store.Due {
	return store.Due{
		Hour: s.hour, Now: s.cfg.Now(), Grace: grace, Host: s.dir.ID, Boot: state.Boot(), MaxLease: maxLease,
		Force: c.loose || !s.forced.IsZero(), OnlyNew: c.base != nil,
	}
}

// lateFor is how long a feed that asked for quiet goes last among its domain's, from when it may be asked again.
const lateFor = 24 * time.Hour

// choose lists the feeds to be fetched, in order, and those that a cap leaves out.
func (s *session) choose(ctx context.Context, cats []*category) (tasks, rest []*task, err error) {
	for _, c := range cats {
		var cands []store.Candidate
		if c.loose {
			cands, err = s.store.CandidatesByID(ctx, c.ids, s.due(c))
		} else {
			cands, err = s.store.Candidates(ctx, c.ID, s.due(c))
		}
		if err != nil {
			return nil, nil, err
		}
		for _, cand := range cands {
			if !c.had[cand.ID] {
				c.asked++
				late := s.cfg.Now().Before(cand.RetryAfterUntil.Add(lateFor))
				tasks = append(tasks, &task{Candidate: cand, cat: c, host: fetch.Host(cand.URL), order: len(tasks), late: late})
			}
		}
		c.done, c.total, c.pending = len(c.had), len(c.had)+c.asked, c.asked
	}
	tasks, rest = chooseTurns(tasks, s.options.MaxFeeds)
	return tasks, rest, nil
}

// hasAnswered tells whether an earlier run of this hour was answered and none ended in an outage. The feeds know it, also
// when that run died.
func (s *session) hasAnswered(ctx context.Context) (bool, error) {
	runs, err := s.store.RunsOf(ctx, s.dir.ID, s.hour)
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if r.Outcome == Outage { // what was asked then was perhaps not silent by itself
			return false, nil
		}
	}
	return s.store.AnsweredSince(ctx, s.hour)
}
