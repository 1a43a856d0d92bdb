package store

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// set writes columns of feed 1 directly, as a person or another process could have.
func set(t testing.TB, s *Store, assignments string) {
	t.Helper()
	err := s.update(context.Background(), func(x *tx) error { return x.run("UPDATE feeds SET " + assignments + " WHERE id = 1") })
	if err != nil {
		t.Fatal(err)
	}
}

// dueTest is a state of a feed at 10:40, and whether it may be fetched: in an ordinary run, a forced one, and one that takes new
// feeds only.
type dueTest struct {
	name, state          string
	due, forced, onlyNew bool
}

func dueTests() []dueTest {
	const (
		now      = "'2026-11-30T10:40:00Z'"
		soon     = "'2026-11-30T10:44:00Z'" // within the grace
		later    = "'2026-11-30T10:50:00Z'"
		far      = "'2026-11-30T12:00:00Z'" // beyond any lease
		thisHour = "'2026-11-30T10:30:00Z'"
		lastHour = "'2026-11-30T09:30:00Z'"
	)
	leased := func(owner, boot, until string) string {
		return "lease_owner = " + owner + ", lease_boot = " + boot + ", lease_until = " + until
	}
	return []dueTest{
		{"new", "next_fetch_at = NULL", true, true, true},
		{"now", "next_fetch_at = " + now, true, true, false},
		{"within the grace", "next_fetch_at = " + soon, true, true, false},
		{"later", "next_fetch_at = " + later, false, true, false},
		{"stopped", "status = 'stopped'", false, false, false},
		{"fetched this hour", "next_fetch_at = " + now + ", fetched_hour = " + thisHour, false, true, false},
		{"fetched this hour, then resumed", "next_fetch_at = NULL, fetched_hour = " + thisHour, true, true, true},
		{"fetched last hour", "next_fetch_at = " + now + ", fetched_hour = " + lastHour, true, true, false},
		{"Retry-After is over", "retry_after_until = " + now, true, true, true},
		{"Retry-After runs, no grace", "retry_after_until = " + soon, false, false, false},
		{"leased", leased("'other/1'", "'boot'", later), false, false, false},
		{"leased by us", leased("'host/1'", "'boot'", later), false, false, false},
		{"lease has lapsed", leased("'other/1'", "'boot'", now), true, true, true},
		{"our lease of another boot", leased("'host/1'", "'before'", later), true, true, true},
		{"our lease of an unknown boot", leased("'host/1'", "NULL", later), true, true, true},
		{"a stranger's lease of another boot", leased("'hostess/1'", "'before'", later), false, false, false},
		{"lease from the future", leased("'other/1'", "'boot'", far), true, true, true},
		{"the clock went back", "last_attempt_at = " + later + ", next_fetch_at = " + far, true, true, false},
		{"the clock went back within the hour", "last_attempt_at = " + later + ", next_fetch_at = " + far + ", fetched_hour = " + thisHour, false, true, false},
	}
}

// Candidates and Claim choose by one condition.
func TestDue(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 40, 0, 0, time.UTC)
	for _, test := range dueTests() {
		base := dueAt(at)
		for name, c := range map[string]struct {
			want bool
			d    func(*Due)
		}{
			"plain":            {test.due, func(*Due) {}},
			"forced":           {test.forced, func(d *Due) { d.Force = true }},
			"only new":         {test.onlyNew, func(d *Due) { d.OnlyNew = true }},
			"only new, forced": {test.onlyNew, func(d *Due) { d.OnlyNew, d.Force = true, true }},
		} {
			d := base
			c.d(&d)
			s := newStoreFast(t)
			addFeeds(t, s, 1, "c")
			set(t, s, test.state)
			byCategory, err := s.Candidates(context.Background(), 1, d)
			if err != nil {
				t.Fatal(err)
			}
			byID, err := s.CandidatesByID(context.Background(), []int64{1, 2}, d)
			if err != nil {
				t.Fatal(err)
			}
			claims, err := s.Claim(context.Background(), []int64{1, 2}, Lease{owner, "boot", at.Add(time.Minute)}, d)
			if err != nil {
				t.Fatal(err)
			}
			got := []bool{len(byCategory) == 1, len(byID) == 1, len(claims) == 1}
			if !slices.Equal(got, []bool{c.want, c.want, c.want}) {
				t.Errorf("%s, %s: candidate, candidate by id, claimed: %v, want %v", test.name, name, got, c.want)
			}
			s.Close()
		}
	}
}

// What was left out longest comes first, what was never tried first of all.
func TestOrderOfCandidates(t *testing.T) {
	s := newStore(t)
	addFeeds(t, s, 4, "c")
	err := s.update(context.Background(), func(x *tx) error {
		return x.run(`UPDATE feeds SET last_attempt_at = CASE id WHEN 1 THEN '2026-11-30T09:00:00Z' WHEN 2 THEN NULL
			WHEN 3 THEN '2026-11-30T08:00:00Z' END`)
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Candidates(context.Background(), 1, dueAt(t0))
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, c := range found {
		ids = append(ids, c.ID)
	}
	if !slices.Equal(ids, []int64{2, 4, 3, 1}) {
		t.Errorf("%v", ids)
	}
	if found[2].URL != "https://2.example/c/feed" || !found[2].LastAttemptAt.Equal(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", found[2])
	}
}

// A claim has everything, in the order that was asked for, and what a merge wrote comes back with the next one.
func TestClaimGivesBackWhatTheMergeWrote(t *testing.T) {
	s := newStore(t)
	ids := addFeeds(t, s, 2, "c")
	settings := FeedSettings{MinInterval: time.Hour, User: "u", Password: "p", Header: map[string]string{"A": "b"}, Insecure: true}
	if err := s.EditFeed(context.Background(), ids[0], FeedEdit{Settings: become(settings)}); err != nil {
		t.Fatal(err)
	}
	claims := claimAt(t, s, t0, ids[1], ids[0])
	if len(claims) != 2 || claims[0].ID != ids[1] || claims[1].Settings.Header["A"] != "b" || claims[1].Token != 1 {
		t.Fatalf("%+v", claims)
	}
	e := success(claims[1], t0, item(1, "one"))
	e.Result.Feed = FeedState{
		URL: claims[1].URL, Title: "T", SiteURL: "https://site.example/", ImageURL: "i", Language: "de", Status: "active",
		ConsecutiveFailures: 2, FailedHour: hour, LastError: "e", LastErrorKind: "dns", LastErrorAt: t0, LastWarning: "w",
		ETag: `"e"`, LastModified: "lm", ValidatorsURL: "v", BodyHash: -7, LastFetchedAt: t0, LastSuccessAt: t0.Add(1), LastChangedAt: t0,
		NextFetchAt: t0.Add(time.Hour), RetryAfterUntil: t0.Add(time.Minute + 1), FetchedHour: hour, Interval: 2 * time.Hour, KeyRule: 3,
		RedirectURL: "r", RedirectSeen: 4, RedirectSince: t0, Schedule: "ttl",
	}
	merge1(t, s, t0, e)
	t1 := t0.Add(time.Hour)
	got := claimOne(t, s, t1, ids[0])
	wanted := Claim{
		ID: ids[0], URL: claims[1].URL, Token: 2, PreviousAttemptAt: t0, Title: "T", SiteURL: "https://site.example/",
		ConsecutiveFailures: 2, FailedHour: hour, LastError: "e", LastErrorKind: "dns", LastErrorAt: t0, LastWarning: "w",
		ETag: `"e"`, LastModified: "lm", ValidatorsURL: "v", BodyHash: -7, LastFetchedAt: t0, LastSuccessAt: t0,
		LastChangedAt: t0, NextFetchAt: t0.Add(time.Hour),
		Interval: 2 * time.Hour, KeyRule: 3, RedirectURL: "r", RedirectSeen: 4, RedirectSince: t0, Schedule: "ttl", Settings: settings,
	}
	want(t, "claim", text1(got), text1(wanted))
	want(t, "what a claim has not", dump(t, s, "SELECT retry_after_until, fetched_hour FROM feeds WHERE id = 1"), "2026-11-30T10:31:01Z|2026-11-30T10:30:00Z")
	l := Lease{owner, "boot", t1.Add(time.Second + 1)} // rounded up: nobody may claim it while its holder counts on it
	if _, err := s.Claim(context.Background(), ids[1:], l, dueAt(t1)); err != nil {
		t.Fatal(err)
	}
	want(t, "lease", dump(t, s, "SELECT lease_owner, lease_boot, lease_until FROM feeds WHERE id = 2"), "host/1|boot|2026-11-30T11:30:02Z")
	document, err := s.Document(context.Background(), ids[0])
	if err != nil || string(document) != string(e.Result.Document) {
		t.Errorf("%q %v", document, err)
	}
	if document, err = s.Document(context.Background(), ids[1]); document != nil || err != nil {
		t.Errorf("%q %v", document, err)
	}
}

// A result without image and language (all but a document that was read) leaves those that are stored.
func TestFailureKeepsWhatADocumentSaid(t *testing.T) {
	s := newStore(t)
	id := addFeeds(t, s, 1, "c")[0]
	e := success(claimOne(t, s, t0, id), t0)
	e.Result.Feed.ImageURL, e.Result.Feed.Language = "i", "de"
	merge1(t, s, t0, e)
	t1 := t0.Add(time.Hour)
	merge1(t, s, t1, notModified(claimOne(t, s, t1, id), t1))
	want(t, "feed", dump(t, s, "SELECT image_url, language FROM feeds"), "i|de")
}

func TestRenewGiveBackReleaseClear(t *testing.T) {
	ctx := context.Background()
	s := newStore(t)
	ids := addFeeds(t, s, 3, "c")
	set(t, s, "last_attempt_at = '2026-11-30T08:00:00Z'")
	claims := claimAt(t, s, t0, ids...)
	until := t0.Add(20 * time.Minute)
	if err := s.RenewLeases(ctx, owner, until); err != nil {
		t.Error(err)
	}
	if err := s.RenewLeases(ctx, "other/1", until.Add(time.Hour)); err != nil {
		t.Error(err)
	}
	const state = "SELECT id, last_attempt_at, lease_owner, lease_until, lease_token FROM feeds"
	if err := s.GiveBack(ctx, "other/1", claims); err != nil {
		t.Error(err)
	}
	want(t, "not the owner", dump(t, s, state), `
1|2026-11-30T10:30:00Z|host/1|2026-11-30T10:50:00Z|1
2|2026-11-30T10:30:00Z|host/1|2026-11-30T10:50:00Z|1
3|2026-11-30T10:30:00Z|host/1|2026-11-30T10:50:00Z|1`)
	if err := s.GiveBack(ctx, owner, claims[:2]); err != nil {
		t.Error(err)
	}
	if err := s.Release(ctx, owner, claims[2:]); err != nil {
		t.Error(err)
	}
	want(t, "given back, released", dump(t, s, state), `
1|2026-11-30T08:00:00Z|<nil>|<nil>|1
2|<nil>|<nil>|<nil>|1
3|2026-11-30T10:30:00Z|<nil>|<nil>|1`)
	claimAt(t, s, t0, ids...)
	if err := s.GiveBack(ctx, owner, claims); err != nil {
		t.Error(err)
	}
	want(t, "older tokens", dump(t, s, "SELECT count(*) FROM feeds WHERE lease_owner IS NOT NULL"), "3")
	for _, clear := range []struct {
		host, left string
		open       bool
	}{{"hos", "3", false}, {"host", "0", true}, {"host", "0", false}} {
		if open, err := s.LeftOpen(ctx, clear.host); open != clear.open || err != nil {
			t.Errorf("left open by %s: %v, %v", clear.host, open, err)
		}
		if err := s.ClearLeases(ctx, clear.host); err != nil {
			t.Error(err)
		}
		want(t, "leases after those of "+clear.host, dump(t, s, "SELECT count(*) FROM feeds WHERE lease_owner IS NOT NULL"), clear.left)
	}
}

// Eight processes claim 10,000 feeds: each feed once.
func TestEightProcessesClaim(t *testing.T) {
	const processes, feeds = 8, 10_000
	s := newStore(t)
	addFeeds(t, s, feeds, "c")
	path := pathOf(t, s)
	var starts []io.WriteCloser
	var outs []*bufio.Scanner
	for n := range processes {
		cmd := childCommand(t, path, "claim", string(rune('a'+n)))
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
		scanner := bufio.NewScanner(out)
		scanner.Scan()
		starts, outs = append(starts, in), append(outs, scanner)
	}
	for _, in := range starts {
		io.WriteString(in, "go\n")
	}
	claimed := map[int64]string{}
	busy := 0
	for n, out := range outs {
		if readClaims(t, out, string(rune('a'+n)), claimed) > 0 {
			busy++
		}
	}
	if len(claimed) != feeds || busy < 2 {
		t.Errorf("%d feeds were claimed, by %d processes", len(claimed), busy)
	}
	want(t, "tokens", dump(t, s, "SELECT lease_token, count(*) FROM feeds GROUP BY 1"), "1|10000")
	rows := strings.Split(strings.TrimSpace(dump(t, s, "SELECT id, lease_owner FROM feeds")), "\n")
	for _, r := range rows[:100] {
		id, owner, _ := strings.Cut(r, "|")
		if want := "host" + claimed[parseID(id)] + "/1"; owner != want {
			t.Fatalf("feed %s belongs to %s, but was given to %s", id, owner, want)
		}
	}
}
