package crawl

import (
	"testing"
	"time"

	"crawl/store"
)

// Of 20 feeds to be fetched, beside 180 that a cap leaves out, 2 are few, however the others ended; and progress counts all.
func TestWhoIsLeftOfARun(t *testing.T) {
	for _, end := range []fate{missed, deferred, answered} {
		p := &pool{s: &session{}}
		p.s.cfg.Now = time.Now
		c := newCollector(p, 20, 180)
		loose := &category{loose: true}
		take := func(f *finished) bool {
			f.task, f.claim = &task{cat: loose}, &store.Claim{}
			f.event.answered, f.event.read = f.what == answered, true
			if err := c.take(f); err != nil {
				t.Fatal(err)
			}
			return f.event.few
		}
		for range 180 {
			take(&finished{what: deferred})
		}
		for range 17 {
			take(&finished{what: end})
		}
		if take(&finished{what: answered}) || !take(&finished{what: answered}) {
			t.Errorf("fate %v: 3 of 20 are few, or 2 are not", end)
		}
		if done, total, _, _ := p.s.beat.read(); done != 199 || total != 200 {
			t.Errorf("fate %v: progress is %d of %d", end, done, total)
		}
	}
}
