package cmd

import (
	"path/filepath"
	"testing"
	"time"
)

// The hook is called for every change once, whoever makes it: also for the removal of the only feed, after which no run has anything to
// fetch. Where nothing has changed it is not called.
func TestTheHookHearsOfEveryChange(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "calls")
	w := newWorld(t, healthySite(t, 1), "CRAWL_HOOK=echo $CRAWL_NEW new, $CRAWL_REMOVED removed >> "+out)
	w.subscribe()
	w.silent(runAt(0), "run")
	same(t, "after a run", []string{"3 new, 0 removed"}, lines(t, out))
	w.silent(runAt(0).Add(time.Minute), "remove", "1", "--yes")
	w.silent(halfAt(0), "half-check")
	same(t, "after a removal", []string{"3 new, 0 removed", "0 new, 3 removed"}, lines(t, out))
	for hour := 1; hour < 3; hour++ {
		w.run(runAt(hour), "run").want(0)
		w.silent(halfAt(hour), "half-check")
	}
	same(t, "without changes", []string{"3 new, 0 removed", "0 new, 3 removed"}, lines(t, out))
}
