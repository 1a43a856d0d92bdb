package cmd

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// long says whether the tests that take minutes run, too: with CRAWL_TEST_LONG=1, as .ci/run sets it.
func long() bool { return os.Getenv("CRAWL_TEST_LONG") == "1" }

// killable is a world with all that a run can do: two categories, one of them ranked, and a hook.
func killable(t *testing.T, s *site) *world {
	t.Helper()
	w := newWorld(t, s, "CRAWL_HOOK=cat >/dev/null")
	w.subscribe()
	w.silent(runAt(0).Add(-time.Hour), "category", "set", "Charts", "--ranked")
	return w
}

func killableSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	for range 5 {
		s.add("News", 4)
	}
	for range 3 {
		s.add("Charts", 4)
	}
	return s
}

// Killed at any named point of a run, the half-check comes to the rows of an undisturbed run, and asks no feed again whose result is in
// a snapshot file.
func TestConvergesAfterAKillAtEachNamedPoint(t *testing.T) {
	t.Parallel()
	s := killableSite(t)
	undisturbed := killable(t, s)
	points := undisturbed.points(runAt(0), "run")
	want := undisturbed.content()
	if len(points) < 12 {
		t.Fatalf("a run passes only %d named points: %v", len(points), points)
	}
	trials := occurrences(points)
	kills := 0
	for _, point := range trials {
		s.cut()
		w := killable(t, s)
		if w.killedAt(point, runAt(0), "run") {
			kills++
		}
		w.repair(point, halfAt(0), want)
		if t.Failed() {
			t.Fatalf("after a kill at %s", point)
		}
	}
	if t.Logf("%d points, %d of %d kills: %v", len(points), kills, len(trials), points); kills < len(points) {
		t.Fatal("too few")
	}
}

// killedAt runs a command that is killed at a point, and says whether it came there: how often a run claims and merges, and what the kill
// of another leaves to be done, is not the same each time.
func (w *world) killedAt(point string, at time.Time, args ...string) bool {
	w.t.Helper()
	trace := filepath.Join(w.t.TempDir(), "points")
	e := w.with("CRAWL_TEST_KILL="+point, "CRAWL_TEST_POINTS="+trace).run(at, args...)
	if e.killed {
		return true
	}
	passed := slices.DeleteFunc(lines(w.t, trace), func(name string) bool { first, _ := pointNumber(point); return name != first })
	if _, n := pointNumber(point); len(passed) >= n {
		w.t.Fatalf("want death at %s of %s", point, e)
	}
	e.want(0)
	return false
}

// The same where the half-check that repairs is killed as well, at each of its points.
func TestConvergesWhenTheRepairIsKilledToo(t *testing.T) {
	t.Parallel()
	s := killableSite(t)
	undisturbed := killable(t, s)
	points := map[string]int{"fetched#3": 1}
	if passed := undisturbed.points(runAt(0), "run"); long() {
		points = passed
	}
	want := undisturbed.content()
	kills := 0
	for first := range points {
		traced := killable(t, s)
		traced.with("CRAWL_TEST_KILL="+first).run(runAt(0), "run").wantKilled()
		for name := range traced.points(halfAt(0), "half-check") {
			s.cut()
			w := killable(t, s)
			w.with("CRAWL_TEST_KILL="+first).run(runAt(0), "run").wantKilled()
			if w.killedAt(name, halfAt(0), "half-check") {
				kills++
			}
			w.repair(first+" and "+name, halfAt(0).Add(time.Minute), want)
		}
	}
	if t.Logf("%d pairs of kills", kills); kills < 12 {
		t.Fatal("too few")
	}
}

// repair runs the half-check and checks the invariants.
func (w *world) repair(after string, at time.Time, want []string) {
	w.t.Helper()
	inFiles, before := w.snapshotFeeds(hourOf(0)), len(w.site.requests())
	w.silent(at, "half-check")
	log := w.site.requests()
	for _, r := range log[before:] {
		if inFiles[r.feed.url] {
			w.t.Fatalf("after a kill at %s: %s is in a snapshot file and was requested again", after, r.feed.title)
		}
	}
	atMost(w.t, 3, log)
	same(w.t, "rows after a kill at "+after+" beside an undisturbed run's", want, w.content())
	w.converged(at.Add(time.Minute))
}

// points runs a command undisturbed and counts the named points that it passed.
func (w *world) points(at time.Time, args ...string) map[string]int {
	w.t.Helper()
	trace := filepath.Join(w.t.TempDir(), "points")
	w.with("CRAWL_TEST_POINTS="+trace).silent(at, args...)
	text, err := os.ReadFile(trace)
	if err != nil {
		w.t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range strings.Fields(string(text)) {
		count[name]++
	}
	return count
}

// occurrences lists each point once, in the long tests up to five times ("name#n"), as CRAWL_TEST_KILL takes it.
func occurrences(points map[string]int) []string {
	var list []string
	for name, count := range points {
		most := 1
		if long() {
			most = min(count, 5)
		}
		for n := range most {
			list = append(list, name+"#"+strconv.Itoa(n+1))
		}
	}
	slices.Sort(list)
	return list
}

var lineURL = regexp.MustCompile(`"url":"(http://127[^"]*)"`)

// snapshotFeeds lists the feeds' URLs in whole lines of the snapshot files of an hour, parts included.
func (w *world) snapshotFeeds(hour string) map[string]bool {
	w.t.Helper()
	found := map[string]bool{}
	paths, _ := filepath.Glob(filepath.Join(w.dir, "snapshots", "*.jsonl*"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		lines := bufio.NewScanner(strings.NewReader(string(text[:strings.LastIndexByte(string(text), '\n')+1])))
		lines.Buffer(nil, 1<<20)
		if !lines.Scan() || !strings.Contains(lines.Text(), hour) {
			continue
		}
		for lines.Scan() {
			if m := lineURL.FindStringSubmatch(lines.Text()); m != nil {
				found[m[1]] = true
			}
		}
	}
	return found
}

// The same while a category is still open: with more feeds than one merge takes, the first are merged from a part.
func TestConvergesAfterAKillWithinACategory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 130 {
		s.add("News", 2)
	}
	undisturbed := newWorld(t, s)
	undisturbed.subscribe()
	passed := undisturbed.points(runAt(0), "run")
	want := undisturbed.content()
	for _, point := range []string{"claimed#2", "fetched#60", "part-append#125", "part-before-sync", "part-after-sync", "merge-mid", "merge-before-commit", "merge-after-commit"} {
		if name, _, _ := strings.Cut(point, "#"); passed[name] == 0 {
			t.Fatalf("the run does not pass %s: %v", name, passed)
		}
		s.cut()
		w := newWorld(t, s)
		w.subscribe()
		w.with("CRAWL_TEST_KILL="+point).run(runAt(0), "run").wantKilled()
		w.repair(point, halfAt(0), want)
	}
}

// Killed at random moments, hour after hour, also while it repairs: whichever command comes next converges.
func TestConvergesAfterKillsAtRandomMoments(t *testing.T) {
	t.Parallel()
	trials := 10
	if long() {
		trials = 200
	}
	random := seeded(t)
	s := killableSite(t)
	w := killable(t, s)
	began := time.Now()
	w.silent(runAt(0), "run")
	usual := time.Since(began)

	hour, killed := 0, 0
	for range trials {
		hour++
		s.cut()
		s.moveOn(hour)
		kills := 0
		for kills == 0 || random.IntN(3) == 0 {
			p := w.start(runAt(hour).Add(time.Duration(kills)*time.Minute), []string{"run", "half-check"}[min(kills, 1)])
			time.Sleep(time.Duration(random.Int64N(int64(usual + usual/10))))
			p.child.Process.Signal(syscall.SIGKILL)
			if p.wait().killed {
				killed++
			}
			kills++
		}
		inFiles, before := w.snapshotFeeds(hourOf(hour)), len(s.requests())
		most := kills + 1
		switch random.IntN(4) {
		case 0:
			w.silent(runAt(hour).Add(20*time.Minute), "run")
		case 1:
			hour++
			most, inFiles = most+1, nil
			w.silent(runAt(hour), "run")
		default:
			w.silent(halfAt(hour), "half-check")
		}
		log := s.requests()
		for _, r := range log[before:] {
			if inFiles[r.feed.url] {
				t.Fatalf("hour %d: %s is in a snapshot file and was requested again", hour, r.feed.title)
			}
		}
		atMost(t, most, log)
		w.converged(halfAt(hour).Add(20 * time.Minute))
	}
	t.Logf("%d of %d trials' processes were killed at work", killed, trials)
}

// seeded is a source of random numbers whose seed is logged, and taken from CRAWL_TEST_SEED to repeat a run.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CRAWL_TEST_SEED"); s != "" {
		fmt.Sscan(s, &seed)
	}
	t.Logf("CRAWL_TEST_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// moveOn gives every feed a new item and an older one another title, and drops what is old.
func (s *site) moveOn(hour int) {
	s.edit(func() {
		for _, f := range s.feeds {
			f.publish()
			f.retitle(2, fmt.Sprintf("%s in hour %d", f.title, hour))
			f.items = f.items[:min(len(f.items), 8)]
		}
	})
}

// Killed while it creates or fills the database, an import can be repeated.
func TestImportCanBeRepeatedAfterAKill(t *testing.T) {
	t.Parallel()
	s := killableSite(t)
	list := s.opml()
	points := newWorld(t, s).points(runAt(0).Add(-time.Hour), "import", list)
	for name := range points {
		w := newWorld(t, s)
		w.with("CRAWL_TEST_KILL="+name).run(runAt(0).Add(-time.Hour), "import", list).wantKilled()
		w.run(runAt(0).Add(-time.Minute), "import", list).want(0)
		s.cut()
		w.silent(runAt(0), "run")
		eachOnce(t, s.cut(), s.feeds)
		w.converged(halfAt(0))
	}
	if points["migrate-mid"] == 0 {
		t.Fatalf("an import into no database passes no migration: %v", points)
	}
}
