package cmd

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// While a forced run works, nothing is said of it that is not known, its categories are not done, and a monitor is content. Once it has
// died, nobody takes it for alive.
func TestStatusOfAForcedRun(t *testing.T) {
	site := newSite(t)
	feed := site.add("News", 3)
	w := newWorld(t, site)
	w.subscribe()
	w.silent(runAt(0), "run")
	gate := make(chan struct{})
	site.edit(func() { feed.gate = gate })
	defer close(gate)
	later := runAt(0).Add(5 * time.Minute)
	p := w.start(later, "run", "--force")
	shown := ""
	for began := time.Now(); !strings.Contains(shown, `"running": {`) || !strings.Contains(shown, `"flag": {`); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("no run is shown: %s", shown)
		}
		shown = w.run(later, "status", "--json").want(0).stdout
	}
	for _, never := range []string{`"run": 0`, `: ""`, `"started": "[0-9]+"`, `[0-9]\.[0-9]+Z"`, `"done": true`, `"complete": true`} {
		if found := regexp.MustCompile(never).FindString(shown); found != "" {
			t.Errorf("the status has %s: %s", found, shown)
		}
	}
	lines := func(text string) []string {
		return regexp.MustCompile(text).FindAllString(w.run(later, "status").stdout, -1)
	}
	if len(lines(`(?m)^News +under way `)) != 1 || len(lines(`(?m)^2 +run .* under way `)) != 1 {
		t.Errorf("neither category nor run is under way: %s", w.run(later, "status"))
	}
	w.silent(later, "status", "--check")

	p.signal(syscall.SIGKILL)
	p.wait().wantKilled()
	if len(lines(`(?m)^2 +run .* died `)) != 1 || len(lines(`under way`)) != 0 {
		t.Errorf("the dead run is shown as alive: %s", w.run(later, "status"))
	}
	if e := w.run(later, "status", "--check").want(1); !strings.Contains(e.stderr, "run 2 of ") {
		t.Errorf("%s", e)
	}
}

// What hangs is no healthy run.
func TestJudgeOfAStalledRun(t *testing.T) {
	site := newSite(t)
	feed := site.add("News", 3)
	w := newWorld(t, site)
	w.subscribe()
	gate := make(chan struct{})
	site.edit(func() { feed.gate = gate })
	defer close(gate)
	w.start(runAt(0), "run")
	for began := time.Now(); !strings.Contains(w.run(runAt(0), "status", "--json").stdout, `"running": {`); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("no run is shown")
		}
	}
	if e := w.run(runAt(0).Add(20*time.Minute), "status", "--check").want(1); !strings.Contains(e.stderr, "has made no progress since") {
		t.Errorf("%s", e)
	}
}
