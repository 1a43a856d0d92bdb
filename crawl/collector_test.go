package crawl

import (
	"context"
	"os"
	"slices"
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

// Who is held back because nobody has answered since is not left of the run.
func TestWhoIsHeldIsNotLeft(t *testing.T) {
	p := &pool{s: &session{}}
	p.s.cfg.Now = time.Now
	c := newCollector(p, 20, 0)
	loose := &category{loose: true}
	for i, e := range append([]event{answerAt("x", 1)}, slices.Repeat([]event{silent("a", 0, late)}, 18)...) {
		f := &finished{event: e, task: &task{cat: loose}, claim: &store.Claim{}}
		if err := c.take(f); err != nil {
			t.Fatal(err)
		}
		if f.event.few != (i == 18) {
			t.Errorf("number %d of 20: few is %v", i, f.event.few)
		}
	}
	if n := len(c.outage.held()); n != 18 {
		t.Errorf("%d are held, not 18", n)
	}
}

// When the line of a result that was held back cannot be written, that which freed it, and whatever else it freed, gives up its place in the
// room and its lease: another document waited for that place for ever.
func TestAWriteThatFailsLosesNoResult(t *testing.T) {
	portal := func(e *event) { e.read, e.notAFeed = false, true }
	for name, freeing := range map[string]event{"a feed": answerAt("x", 2), "a portal": changed(answerAt("x", 2), portal)} {
		ctx, stop := context.WithCancelCause(t.Context())
		cat := &category{pending: 3} // number 0 has no file
		p := newPool(testSession(t), []*category{cat})
		p.stop = stop
		c := newCollector(p, 100, 0)
		for i, f := range []*finished{{event: silent("a", 0, 1)}, {event: silent("b", 0, 1)}, fat(roomSize)} {
			if i == 2 {
				f.event = freeing
			}
			f.task, f.claim = &task{cat: cat}, &store.Claim{ID: int64(i)}
			p.room.enter(f)
			p.results <- f
		}
		close(p.results)
		if err := c.run(ctx); err == nil || context.Cause(ctx) == nil {
			t.Errorf("%s: %v, and the pool ended with %v", name, err, context.Cause(ctx))
		}
		if n := len(c.release) + len(c.giveBack); p.room.taken != 0 || n != 2 {
			t.Errorf("%s: %d bytes are taken and %d leases given back in the end, not 0 and 2", name, p.room.taken, n)
		}
	}
}

// Every request that was sent is counted, whatever became of it, and after an error of ours too: those that were cut off were left out.
// What goes on elsewhere has not ended.
func TestEveryRequestIsCounted(t *testing.T) {
	for _, broken := range []bool{false, true} {
		ctx, stop := context.WithCancelCause(t.Context())
		cat := &category{loose: !broken} // else number 0, which has no file
		p := newPool(testSession(t), []*category{cat})
		p.stop = stop
		c := newCollector(p, 100, 0)
		for what := answered; what <= moved; what++ {
			p.results <- &finished{what: what, event: answerAt("x", 1), reqs: 1 << what, task: &task{cat: cat}, claim: &store.Claim{}}
		}
		close(p.results)
		if err := c.run(ctx); broken == (err == nil) {
			t.Errorf("broken %v: %v", broken, err)
		}
		if n := p.s.sum.Requests; n != 1<<(moved+1)-1 {
			t.Errorf("broken %v: requests %b", broken, n)
		}
		if want := map[bool]int{false: 3, true: 5}[broken]; len(c.left) != want {
			t.Errorf("broken %v: %d are left, want %d", broken, len(c.left), want)
		}
	}
}

// A part that is damaged after it was read costs what it has, and not the run: whether that is found when it is taken up, or when it is gone on
// with.
func TestAPartDamagedAfterItWasRead(t *testing.T) {
	for _, takenUp := range []bool{false, true} {
		s := testSession(t)
		added, err := s.store.AddFeeds(t.Context(), []store.NewFeed{{URL: "http://example.org/feed", Category: "News"}}, s.start)
		if err != nil {
			t.Fatal(err)
		}
		cat := &category{header: s.header(1), pending: 4}
		for range 3 {
			if err := cat.write(s, noteLine(store.Candidate{ID: added[0].ID}, store.Deferred)); err != nil {
				t.Fatal(err)
			}
		}
		if err := cat.leave(); err != nil {
			t.Fatal(err)
		}
		old, err := s.recover(t.Context())
		if err != nil || len(old.parts) != 1 {
			t.Fatalf("%+v, %v", old, err)
		}
		damage := func() {
			text, err := os.ReadFile(old.parts[1].Path)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 4
			if err := os.WriteFile(old.parts[1].Path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !takenUp {
			damage()
		}
		cats, err := s.unfinished(t.Context(), old)
		if err != nil || len(cats) != 1 || (len(cats[0].had) == 1) != takenUp {
			t.Fatalf("taken up %v: %+v, %v", takenUp, cats, err)
		}
		if takenUp {
			damage()
		}
		if _, err := cats[0].secure(s); err != nil {
			t.Errorf("taken up %v: %v", takenUp, err)
		}
		infos, bad, err := s.dir.Look()
		if err != nil || len(bad) != 0 || len(infos) != 1 || !infos[0].Complete || infos[0].Closing.Count != 0 {
			t.Errorf("taken up %v: %+v, %v, %v", takenUp, infos, bad, err)
		}
	}
}
