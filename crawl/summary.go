package crawl

import "crawl/store"

// parsedWhole counts a document that could not be cut.
func (s *Summary) parsedWhole(why string) {
	if s.Whole == nil {
		s.Whole = map[string]int{}
	}
	s.Whole[why]++
}

// counts is the summary as the runs table keeps it.
func (s *session) counts() store.Counts {
	f := s.sum.Feeds
	return store.Counts{
		CategoriesDone: s.sum.Categories.Done, CategoriesSkipped: s.sum.Categories.Skipped, CategoriesLeft: s.sum.Categories.Left,
		Fetched: f.Fetched, Changed: f.Changed, Unchanged: f.Unchanged, Failed: f.Failed, Throttled: f.Throttled,
		Deferred: f.Deferred, Left: f.Left, Stopped: f.Stopped,
		ItemsNew: s.sum.Items.New, ItemsUpdated: s.sum.Items.Updated,
		Requests: s.sum.Requests, Answers: s.answers, Bytes: s.sum.Bytes,
	}
}
