package cmd

import (
	"fmt"
	"testing"
)

// A text that changes every hour is braked, and when its source settles the last text comes in all the same: by validators, by the hash
// of the body and by the hashes of its items alike it would have been taken for known.
func TestLastTextArrivesAfterTheBrake(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 { // the third has no validators
		s.add("News", 2)
	}
	w := newWorld(t, s)
	w.subscribe()
	const texts = "SELECT coalesce(content, summary) AS text FROM contents WHERE text LIKE 'It is%'"
	const changes, held, settled = 26, 2, 24
	for n := range changes + settled + 1 {
		if n <= changes {
			s.edit(func() {
				for _, f := range s.feeds {
					f.rewrite(0, fmt.Sprintf("It is %d.", n))
				}
			})
		}
		w.silent(runAt(n), "run")
		if n == changes {
			text := fmt.Sprintf("It is %d.", changes-held)
			same(t, "texts that the brake holds", []string{text, text, text}, w.query(texts))
		}
	}
	text := fmt.Sprintf("It is %d.", changes)
	same(t, "last texts", []string{text, text, text}, w.query(texts))
	s.cut()
	w.silent(runAt(changes+settled+1), "run")
	for _, r := range s.requests() {
		if r.feed.validators && r.status != 304 {
			t.Errorf("%s answers %d when all is stored", r.feed.title, r.status)
		}
	}
}

// While one item's text is held, another's title changes and changes back: what is remembered of the last document that was stored whole
// must not make the first title pass for the stored one.
func TestWhatChangesBackBesideTheBrake(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.add("News", 2)
	}
	w := newWorld(t, s)
	w.subscribe()
	const braked, settled = 26, 24
	for n := range braked + settled + 2 {
		s.edit(func() {
			for _, f := range s.feeds {
				if n <= braked+1 {
					f.rewrite(0, fmt.Sprintf("It is %d.", n))
				}
				switch n {
				case braked:
					f.items[1].title = "Another title"
				case braked + 1:
					f.items[1].title = "The first title"
				case 0:
					f.items[1].title = "The first title"
				}
			}
		})
		w.silent(runAt(n), "run")
		if n == braked {
			same(t, "titles beside the brake", []string{"3"}, w.query("SELECT count(*) FROM items WHERE title = 'Another title'"))
		}
		if n > braked {
			same(t, "titles that changed back", []string{"3"}, w.query("SELECT count(*) FROM items WHERE title = 'The first title'"))
		}
	}
	same(t, "last texts", []string{"3"}, w.query("SELECT count(*) FROM contents WHERE coalesce(content, summary) = 'It is 27.'"))
}
