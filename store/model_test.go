package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The lease model: eight processes, each with a connection of its own, claim, fetch, pause, crash and send results late or twice,
// while the clock also steps back and forth. A seeded scheduler chooses who acts next. Checked are: tokens rise; nobody is given
// what another one holds; an applied result carries the highest token of its time.
type model struct {
	t       *testing.T
	r       *rand.Rand
	clock   time.Time
	feeds   []int64
	workers []*modelWorker
	late    []Entry // results of dead runs, and copies of those that were merged

	token   map[int64]int64     // highest token given, by feed
	applied map[int64]int64     // highest token applied
	held    map[int64]time.Time // until when the last claim holds; gone when it ended
	holder  map[int64]*modelWorker
}

type modelWorker struct {
	s      *Store
	owner  string
	boot   string
	claims []Claim
	pause  int // turns
}

const modelLease = 10 * time.Minute

func TestLeaseModel(t *testing.T) {
	seeds, steps := 6, 500
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			m := &model{
				t: t, r: rand.New(rand.NewPCG(uint64(seed), 1)), clock: t0,
				token: map[int64]int64{}, applied: map[int64]int64{}, held: map[int64]time.Time{},
				holder: map[int64]*modelWorker{},
			}
			s := newStoreFast(t)
			m.feeds = addFeeds(t, s, 6, "c")
			for n := range 8 {
				m.workers = append(m.workers, &modelWorker{s: openStore(t, pathOf(t, s)), owner: fmt.Sprintf("host%d/1", n), boot: "boot"})
			}
			for range steps {
				m.step()
			}
			m.finish(s)
		})
	}
}

func (m *model) step() {
	w := m.workers[m.r.IntN(len(m.workers))]
	if w.pause > 0 {
		w.pause--
		return
	}
	switch m.r.IntN(12) {
	case 0, 1, 2:
		m.claim(w)
	case 3, 4, 5:
		m.result(w)
	case 6:
		m.lateResult(w)
	case 7:
		m.renew(w)
	case 8:
		m.release(w)
	case 9:
		w.pause = m.r.IntN(20)
	case 10:
		m.crash(w)
	default:
		m.tick()
	}
}

// holds says whether a lease until then holds now: it has not lapsed, and is not further away than a lease can be.
func (m *model) holds(until time.Time) bool {
	return until.After(m.clock) && !until.After(m.clock.Add(modelLease))
}

func (m *model) claim(w *modelWorker) {
	host, _, _ := strings.Cut(w.owner, "/")
	due := Due{Hour: hourOf(m.clock), Now: m.clock, Force: true, Host: host, Boot: w.boot, MaxLease: modelLease}
	until := m.clock.Add(modelLease)
	free := 0
	for _, id := range m.feeds {
		if !m.holds(m.held[id]) {
			free++
		}
	}
	ids := m.feeds
	if w.owner != "last/1" {
		m.r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		ids = ids[:1+m.r.IntN(len(ids))]
	}
	claims, err := w.s.Claim(context.Background(), ids, Lease{w.owner, w.boot, until}, due)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, c := range claims {
		if m.holds(m.held[c.ID]) {
			m.t.Fatalf("feed %d was given to %s at %s, but is held until %s", c.ID, w.owner, m.clock, m.held[c.ID])
		}
		if c.Token <= m.token[c.ID] {
			m.t.Fatalf("feed %d: token %d after %d", c.ID, c.Token, m.token[c.ID])
		}
		m.token[c.ID], m.held[c.ID], m.holder[c.ID] = c.Token, until, w
	}
	if len(claims) > free {
		m.t.Fatalf("%d claims, %d free", len(claims), free)
	}
	w.claims = append(w.claims, claims...)
}

// entry is the result of a claim: an item of its own, so that it can be seen what became of it.
func (m *model) entry(c Claim) Entry {
	e := success(c, m.clock, item(int(c.ID*1_000_000+c.Token), fmt.Sprint("by token ", c.Token)))
	if m.r.IntN(3) == 0 {
		e = notModified(c, m.clock)
	}
	e.Result.Feed.ETag = fmt.Sprint(c.Token)
	return e
}

func (m *model) merge(w *modelWorker, e Entry) {
	got, err := w.s.Merge(context.Background(), 1, []Entry{e}, nil, m.clock)
	if err != nil {
		m.t.Fatal(err)
	}
	should := e.Token == m.token[e.FeedID] && e.Token > m.applied[e.FeedID]
	if (got.Applied == 1) != should {
		m.t.Fatalf("feed %d token %d: applied %d; the highest is %d, applied was %d", e.FeedID, e.Token, got.Applied, m.token[e.FeedID], m.applied[e.FeedID])
	}
	if should {
		m.applied[e.FeedID] = e.Token
		delete(m.held, e.FeedID)
	}
	m.late = append(m.late, e)
}

// result sends what a claim brought, however long the worker was paused in between.
func (m *model) result(w *modelWorker) {
	if len(w.claims) == 0 {
		return
	}
	c := w.claims[0]
	w.claims = w.claims[1:]
	m.merge(w, m.entry(c))
}

func (m *model) lateResult(w *modelWorker) {
	if len(m.late) > 0 {
		m.merge(w, m.late[m.r.IntN(len(m.late))])
	}
}

// renew moves what the worker still holds by the database: of a claim that was taken from it, it holds nothing.
func (m *model) renew(w *modelWorker) {
	until := m.clock.Add(modelLease)
	if err := w.s.RenewLeases(context.Background(), w.owner, until); err != nil {
		m.t.Fatal(err)
	}
	mine := map[int64]bool{}
	for _, c := range w.claims {
		if _, held := m.held[c.ID]; held && c.Token == m.token[c.ID] {
			m.held[c.ID] = until
			mine[c.ID] = true
		}
	}
	held := fmt.Sprintf("SELECT count(*) FROM feeds WHERE lease_owner = '%s' AND lease_until = '%s'", w.owner, fmt.Sprint(stamp(roundUp(until))))
	want(m.t, w.owner+" renewed", dump(m.t, w.s, held), fmt.Sprint(len(mine)))
}

func (m *model) release(w *modelWorker) {
	if len(w.claims) == 0 {
		return
	}
	f := w.s.GiveBack
	if m.r.IntN(2) == 0 {
		f = w.s.Release
	}
	if err := f(context.Background(), w.owner, w.claims[:1]); err != nil {
		m.t.Fatal(err)
	}
	if c := w.claims[0]; c.Token == m.token[c.ID] && m.applied[c.ID] < c.Token {
		delete(m.held, c.ID)
	}
	w.claims = w.claims[1:]
}

// crash: the process is gone, a part of its results is in a snapshot that somebody merges later. The next one has another owner
// and, after a reboot, another boot, which makes the old leases void at once.
func (m *model) crash(w *modelWorker) {
	for _, c := range w.claims {
		if m.r.IntN(2) == 0 {
			m.late = append(m.late, m.entry(c))
		}
	}
	if m.r.IntN(2) == 0 {
		w.boot += "'"
		for id, holder := range m.holder {
			if holder == w {
				delete(m.held, id)
			}
		}
	}
	w.claims = nil
	host := w.owner[:len("host0")]
	w.owner = fmt.Sprintf("%s/%d", host, m.r.IntN(1_000_000))
}

func (m *model) tick() {
	switch m.r.IntN(10) {
	case 0:
		m.clock = m.clock.Add(-time.Duration(m.r.IntN(1500)) * time.Minute)
	case 1:
		m.clock = m.clock.Add(time.Duration(m.r.IntN(1500)) * time.Minute)
	default:
		m.clock = m.clock.Add(time.Duration(m.r.IntN(400)) * time.Second)
	}
}

// finish merges every result once more, in some order: each item is there once, each feed as its highest applied token left it.
func (m *model) finish(s *Store) {
	w := &modelWorker{s: s, owner: "last/1", boot: "boot"}
	m.clock = m.clock.Add(2 * modelLease)
	m.claim(w)
	for len(w.claims) > 0 {
		m.result(w)
	}
	m.r.Shuffle(len(m.late), func(i, j int) { m.late[i], m.late[j] = m.late[j], m.late[i] })
	items := map[string]bool{}
	for _, e := range slices.Clone(m.late) {
		m.merge(w, e)
		for _, it := range e.Result.Items {
			items[fmt.Sprintf("%d|%s", e.FeedID, it.Key)] = true
		}
	}
	if len(items) < 8 || len(m.applied) != len(m.feeds) {
		m.t.Errorf("too little happened: %d items, %d feeds", len(items), len(m.applied))
	}
	want(m.t, "items", dump(m.t, s, "SELECT count(*), count(DISTINCT feed_id || key) FROM items"), fmt.Sprintf("%d|%d", len(items), len(items)))
	want(m.t, "feeds", dump(m.t, s, "SELECT count(*) FROM feeds WHERE etag = merged_token"), fmt.Sprint(len(m.feeds)))
	for id, token := range m.applied {
		want(m.t, "merged token", dump(m.t, s, fmt.Sprintf("SELECT merged_token FROM feeds WHERE id = %d", id)), fmt.Sprint(token))
	}
	want(m.t, "integrity", dump(m.t, s, "PRAGMA integrity_check"), "ok")
}

// Four processes at once, each with connections of its own, do five hours' work: each feed is fetched once an hour, and each
// item is there once.
func TestConcurrentHours(t *testing.T) {
	s := newStoreFast(t)
	addFeeds(t, s, 60, "c")
	var processes []*Store
	for range 4 {
		processes = append(processes, openStore(t, pathOf(t, s)))
	}
	for h := range 5 {
		var wg sync.WaitGroup
		for n, p := range processes {
			wg.Go(func() { workAnHour(t, p, fmt.Sprintf("host%d/1", n), t0.Add(time.Duration(h)*time.Hour)) })
		}
		wg.Wait()
	}
	want(t, "tokens", dump(t, s, "SELECT min(lease_token), max(lease_token), min(lease_token = merged_token) FROM feeds"), "5|5|1")
	want(t, "items", dump(t, s, "SELECT count(*), count(DISTINCT feed_id || ' ' || key) FROM items"), "300|300")
	want(t, "changes", dump(t, s, "SELECT count(*), count(DISTINCT item_id), min(seq), max(seq) FROM changes"), "300|300|1|300")
}

func workAnHour(t *testing.T, s *Store, owner string, now time.Time) {
	ctx := context.Background()
	for {
		candidates, err := s.Candidates(ctx, 1, dueAt(now))
		if err != nil {
			t.Error(err)
			return
		}
		if len(candidates) == 0 {
			return
		}
		var ids []int64
		for _, c := range candidates[:min(7, len(candidates))] {
			ids = append(ids, c.ID)
		}
		claims, err := s.Claim(ctx, ids, Lease{owner, "boot", now.Add(modelLease)}, dueAt(now))
		if err != nil {
			t.Error(err)
			return
		}
		var entries []Entry
		for _, c := range claims {
			entries = append(entries, success(c, now, item(hourOf(now).Hour(), "one")))
		}
		m, err := s.Merge(ctx, 1, entries, nil, now)
		if err != nil || m.Applied != len(claims) {
			t.Errorf("%+v %v", m, err)
		}
	}
}
