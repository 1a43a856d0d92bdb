package store

import "fmt"

// redirect gives a feed the URL to which its own redirects for good. If another feed has that URL and works, this one is stopped
// as its duplicate; if it does not work, this one keeps its URL, with a warning.
func (t *tx) redirect(e *Entry, state *FeedState) error {
	url := valid(state.URL)
	var other int64
	var works bool
	err := t.query(`
		SELECT id,
		       status = 'active' AND consecutive_failures = 0 AND last_success_at IS NOT NULL
		FROM feeds
		WHERE url = ?`,
		func(r row) error {
			other, works = r.int(0), r.bool(1)
			return nil
		}, url)
	if err != nil {
		return err
	}
	switch {
	case other == 0:
		state.URL = url
		return t.rename(e.FeedID, url)
	case works:
		state.URL = e.URL
		state.Status = "stopped"
		state.StoppedReason = fmt.Sprintf("duplicate of feed %d", other)
	default:
		state.URL = e.URL
		state.LastWarning = fmt.Sprintf("redirects for good to the URL of feed %d, which does not work", other)
	}
	return nil
}
