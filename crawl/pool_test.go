package crawl

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// Where the database refuses a claim, every task is told of: those of the claim, and those that still wait.
func TestNobodyIsForgottenAfterAFailedClaim(t *testing.T) {
	p := &pool{s: testSession(t)}
	if err := p.s.store.Close(); err != nil {
		t.Fatal(err)
	}
	p.s.cfg.Settings.PerHost, p.s.cfg.Settings.Workers = 2, 4
	p = newPool(p.s, nil)
	ctx, stop := context.WithCancelCause(t.Context())
	p.stop = stop
	for i, tk := range tasksOf("a", "a", "a", "b", "c", "d", "e") {
		if tk.cat = (&category{}); i%2 == 0 {
			tk.cat.base = &state.Info{}
		}
		p.queue.add(tk)
	}
	if err := p.dispatch(ctx); err == nil || context.Cause(ctx) != err {
		t.Errorf("dispatch: %v, and the run ends with %v", err, context.Cause(ctx))
	}
	close(p.results)
	told := map[int64]bool{}
	for f := range p.results {
		if told[f.task.ID] || f.what != notStarted {
			t.Errorf("task %d, fate %v: told before: %v", f.task.ID, f.what, told[f.task.ID])
		}
		told[f.task.ID] = true
	}
	if len(told) != 7 {
		t.Errorf("%d of 7 tasks were told of", len(told))
	}
}

// testSession is one in a directory of its own, with the lock and the database.
func testSession(t *testing.T) *session {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Settings: testSettings, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	_, db, err := OpenStore(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := begin(t.Context(), cfg, kindRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.end() })
	return s
}

// TestWorkersGrow: more workers only where those that there are wait for the network, never more than the setting says.
func TestWorkersGrow(t *testing.T) {
	for _, tt := range []struct {
		name                                string
		workers, most, done, reading, cores int
		want                                int
	}{
		{"slow network", 64, 256, 3, 1, 2, 128},
		{"nothing comes", 64, 256, 0, 0, 2, 128},
		{"quick network", 64, 256, 64, 1, 2, 64},
		{"no core is free", 64, 256, 3, 2, 2, 64},
		{"the setting", 128, 200, 3, 1, 2, 200},
		{"few", 4, 4, 0, 0, 2, 4},
	} {
		p := &pool{s: &session{}, workers: tt.workers, done: tt.done, parsing: make(chan struct{}, tt.cores)}
		p.s.cfg.Settings.Workers = tt.most
		for range tt.reading {
			p.parsing <- struct{}{}
		}
		if p.grow(); p.workers != tt.want || p.done != 0 {
			t.Errorf("%s: %d workers, want %d; done %d", tt.name, p.workers, tt.want, p.done)
		}
	}
}

// A feed that waits where a redirect led keeps its claim, which is given back: as deferred when that host asks for quiet, as unsent when the
// run ends; a place at its own host it has given up.
func TestWhoWaitsWhereARedirectLed(t *testing.T) {
	s := testSession(t)
	s.cfg.Settings.PerHost, s.cfg.Settings.Workers = 1, 4
	for _, want := range []fate{deferred, unsent} {
		p := newPool(s, nil)
		tk, busy := tasksOf("a.example")[0], tasksOf("b.example")[0]
		tk.URL, busy.URL = "http://a.example/", "http://b.example/"
		p.queue.add(tk)
		p.queue.add(busy)
		p.queue.take(2)
		p.busy = 2
		p.ended(ended{tk, &onward{&store.Claim{ID: 7}, &fetch.Onward{Host: "b.example"}, time.Time{}}})
		if p.busy != 1 || p.queue.waiting != 1 || p.queue.startable(5) != 0 || len(p.queue.hosts) != 1 {
			t.Fatalf("%d are busy, %d wait at %d hosts, %d may start", p.busy, p.queue.waiting, len(p.queue.hosts), p.queue.startable(5))
		}
		if want == deferred {
			p.quiet.add("a.example") // which has answered
			p.deferQuiet()
			p.quiet.add("b.example")
			p.deferQuiet()
		} else {
			p.end(notStarted, p.queue.drop(func(*task) bool { return true }))
		}
		if len(p.results) != 1 {
			t.Fatalf("%d results", len(p.results))
		}
		if f := <-p.results; f.what != want || f.claim == nil || f.claim.ID != 7 {
			t.Errorf("%+v, want fate %v", f, want)
		}
	}
}
