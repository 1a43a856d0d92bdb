package cmd

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// answerAll lets the first n feeds answer with a status, the others as they did.
func (s *site) answerAll(n, code int) {
	s.edit(func() {
		for _, f := range s.feeds[:n] {
			f.behave, f.code = fails, code
		}
	})
}

// That every server asks for quiet, as when our address is blocked, is no failure of a feed, but it is said.
func TestThatAllAreThrottledIsSaid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		throttled, failing int
		says               string // "" nothing
	}{
		"all":                      {8, 0, "every active feed is throttled by its server or failing"},
		"the others fail":          {7, 1, "every active feed is throttled by its server or failing"},
		"all but one":              {7, 0, ""},
		"all fail, none throttled": {0, 8, "every active feed is failing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := healthySite(t, 8)
			w := newWorld(t, s)
			w.subscribe()
			w.silent(runAt(0), "run")
			s.answerAll(test.throttled+test.failing, http.StatusInternalServerError)
			s.answerAll(test.throttled, http.StatusTooManyRequests)
			if e := w.run(runAt(1), "run").want(0); test.says == "" && e.stderr != "" || test.says != "" && !oneLine(e.stderr, test.says) {
				t.Errorf("%s", e)
			}
			shown := w.run(runAt(1), "status").want(0).stdout
			for _, want := range []string{
				fmt.Sprintf(`(?m)^feeds +8 active, %d of them failing, %d throttled; 0 stopped$`, test.failing, test.throttled),
				fmt.Sprintf(`(?m)^2 +run .* done +8 +%d +%d `, test.failing, test.throttled),
			} {
				if !regexp.MustCompile(want).MatchString(shown) {
					t.Errorf("no %q in the status:\n%s", want, shown)
				}
			}
			if n := strings.Count(w.run(runAt(1), "list").want(0).stdout, " throttled "); n != test.throttled {
				t.Errorf("%d feeds are listed as throttled, want %d", n, test.throttled)
			}
		})
	}
}

// That a run stops many feeds is said at once, and what to do when none is left.
func TestThatManyAreStoppedIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		feeds, gone int
		said        bool
	}{{8, 8, true}, {8, 4, true}, {8, 3, false}, {40, 4, false}, {40, 5, true}} {
		s := healthySite(t, test.feeds)
		w := newWorld(t, s)
		w.subscribe()
		w.silent(runAt(0), "run")
		s.answerAll(test.gone, http.StatusGone)
		e := w.run(runAt(1), "run").want(0)
		if said := oneLine(e.stderr, "feeds were stopped and get no more requests; crawl list --stopped says why"); said != test.said || !said && e.stderr != "" {
			t.Errorf("%d of %d: %s", test.gone, test.feeds, e)
		}
		if test.gone < test.feeds {
			continue
		}
		if e := w.run(runAt(2), "run").want(0); !oneLine(e.stderr, "crawl resume") || strings.Contains(e.stderr, "crawl add") {
			t.Errorf("all are stopped: %s", e)
		}
	}
}
