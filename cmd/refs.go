package cmd

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crawl/crawl/fetch"
	"crawl/store"
)

// feedRef is what a person names a feed by, in the form in which it is stored: an id, or a URL without user and password.
func feedRef(typed string) string {
	if _, err := strconv.ParseInt(typed, 10, 64); err == nil {
		return typed
	}
	if clean, _, _, err := fetch.Normalize(typed); err == nil {
		return clean
	}
	return typed
}

// find finds the feeds that the arguments name, each once.
func find(ctx context.Context, s *store.Store, refs []string) ([]store.Feed, error) {
	var feeds []store.Feed
	for i, ref := range refs {
		f, err := s.FindFeed(ctx, feedRef(ref))
		switch {
		case err == nil:
		case len(refs) > 1:
			return nil, fmt.Errorf("argument %d (%s): %w", i+1, shownArgument(ref), err)
		case strings.Contains(ref, ":"): // of a URL the error itself says nothing
			return nil, fmt.Errorf("%s: %w", shownArgument(ref), err)
		default:
			return nil, err
		}
		if !slices.ContainsFunc(feeds, func(other store.Feed) bool { return other.ID == f.ID }) {
			feeds = append(feeds, f)
		}
	}
	return feeds, nil
}

func ids(feeds []store.Feed) []int64 {
	var ids []int64
	for _, f := range feeds {
		ids = append(ids, f.ID)
	}
	return ids
}
