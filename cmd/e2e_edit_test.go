package cmd

import (
	"fmt"
	"strings"
	"testing"
)

// An address that another feed has is refused before anything is stored: the password that was in it would have gone to the host of the
// feed's old address.
func TestPasswordOfARefusedAddressIsNotKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b := s.add("News", 1), s.add("News", 1)
	w := newWorld(t, s)
	w.subscribe(a, b)
	withPassword := strings.Replace(b.url, "://", "://user:secret@", 1)
	for _, command := range []string{"set", "resume"} {
		w.silent(runAt(0), "stop", "1")
		w.run(runAt(0), command, "1", "--url", withPassword).want(exitError)
		same(t, command, []string{a.url + " | stopped | NULL"}, w.query("SELECT url, status, settings FROM feeds WHERE id = 1"))
	}
	w.silent(runAt(0), "resume", "1", "--url", strings.Replace(withPassword, "/feed", "/other", 1))
	same(t, "resume", []string{strings.Replace(b.url, "/feed", "/other", 1) + ` | active | {"user":"user","password":"secret"}`},
		w.query("SELECT url, status, settings FROM feeds WHERE id = 1"))
}

// A resume --url that does not come to its end changes nothing: the feed was at its new address by then, and stopped.
func TestResumeAtAnotherAddressIsWholeOrNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	f := s.add("News", 1)
	w := newWorld(t, s)
	w.subscribe()
	w.silent(runAt(0), "stop", "1")
	w.change("CREATE TRIGGER stay BEFORE UPDATE OF status ON feeds BEGIN SELECT RAISE(ABORT, 'no'); END")
	w.run(runAt(0), "resume", "1", "--url", strings.Replace(f.url, "/feed", "/other", 1)).want(exitError)
	same(t, "feed", []string{f.url + " | stopped"}, w.query("SELECT url, status FROM feeds"))
}

// Of several edits of a feed at once none is lost.
func TestSetAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add("News", 1)
	w := newWorld(t, s)
	w.subscribe()
	const edits = 8
	var all []*process
	for n := range edits {
		all = append(all, w.start(runAt(0), "set", "1", "--header", fmt.Sprintf("X-%d: 1", n)))
	}
	for _, p := range all {
		p.wait().want(0).wantSilence()
	}
	if n := w.number("SELECT count(*) FROM feeds, json_each(settings, '$.header')"); n != edits {
		t.Errorf("%d headers of %d edits", n, edits)
	}
}
