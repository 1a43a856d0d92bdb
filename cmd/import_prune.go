package cmd

import (
	"context"
	"errors"
	"fmt"

	"crawl/store"
)

// prune removes the feeds that are not in the file, unless the file looks wrong rather than short.
func (i *imported) prune(ctx context.Context, a *app, s *store.Store, kept map[int64]bool, o importOptions) error {
	if len(i.Refused) > 0 {
		return &hintedError{errors.New("nothing was removed: a line was refused"), "put the file right, or import without --prune"}
	}
	if i.Added+i.Present == 0 {
		return errors.New("nothing was removed: the file holds no feed")
	}
	feeds, err := s.Feeds(ctx, store.Filter{})
	if err != nil {
		return err
	}
	var doomed []int64
	for _, f := range feeds {
		if !kept[f.ID] {
			doomed = append(doomed, f.ID)
		}
	}
	before := len(feeds) - i.Added
	if o.dryRun {
		before = len(feeds)
	}
	if 10*len(doomed) > before && !o.yes {
		err := fmt.Errorf("nothing was removed: %d of %s are not in the file", len(doomed), store.Count(before, "feed"))
		return &hintedError{err, "--yes removes more than a tenth"}
	}
	if len(doomed) > 0 && !o.dryRun {
		if err := s.Remove(ctx, doomed, a.now()); err != nil {
			return err
		}
	}
	i.Removed = len(doomed)
	return nil
}
