package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"crawl/state"
	"crawl/store"
)

// print shows the status to a person.
func (s status) print(a *app) error {
	err := a.print(func(w io.Writer) error {
		fmt.Fprintf(w, "hour      %s, %s\n", s.Hour, clean(s.progress()))
		fmt.Fprintf(w, "running   %s\n", runningText(s.holder, a.now()))
		if s.kill != nil {
			fmt.Fprintf(w, "kill      the flag is up since %s; the next crawl run clears it\n", stamp(s.kill.At))
		}
		_, err := fmt.Fprintf(w, "feeds     %d active, %d of them failing, %d throttled; %d stopped\n",
			s.Feeds.Active, s.Feeds.Failing, s.Feeds.Throttled, s.Feeds.Stopped)
		return err
	})
	if err != nil {
		return err
	}
	tables := []*table{s.categoryTable(), s.runTable(), s.stepTable()}
	if len(s.troubled) > 0 {
		tables = append(tables, troubledTable(s.troubled, a.now()))
	}
	for _, t := range tables {
		if len(t.rows) < 2 {
			continue
		}
		if err := a.print(func(w io.Writer) error { _, err := fmt.Fprintln(w); return err }); err != nil {
			return err
		}
		if err := t.print(a.program); err != nil {
			return err
		}
	}
	return nil
}

func (s status) progress() string {
	if s.Complete {
		return "complete"
	}
	if why := s.unfinished(); len(why) > 0 {
		return "not complete: " + strings.TrimPrefix(strings.Join(why, "; "), s.open())
	}
	return "not complete"
}

func runningText(h *state.Holder, now time.Time) string {
	if h == nil {
		return "nothing"
	}
	text := whoWorks(*h)
	if !h.Since.IsZero() {
		text += fmt.Sprintf(", since %s, last progress %s", stamp(h.Since), ago(h.Progress, now))
	}
	if h.Phase != "" {
		text += ", phase " + h.Phase
	}
	if h.Total > 0 {
		text += fmt.Sprintf(", %d of %s", h.Done, store.Count(h.Total, "feed"))
	}
	return text
}

func (s status) categoryTable() *table {
	t := newTable("CATEGORY", "THIS HOUR", "FEEDS", "FAILING", "STOPPED")
	for _, c := range s.Categories {
		done := "to do"
		switch {
		case c.Done:
			done = "done"
		case s.holder != nil && stamp(s.holder.Hour) == s.Hour:
			done = "under way"
		}
		t.add(c.Name, done, fmt.Sprint(c.Feeds), fmt.Sprint(c.Failing), fmt.Sprint(c.Stopped))
	}
	return t
}

func (s status) runTable() *table {
	t := newTable("RUN", "KIND", "HOUR", "STARTED", "OUTCOME", "FETCHED", "FAILED", "THROTTLED", "NEW", "UPDATED", "REASON")
	t.whole = true // the reason comes last
	for _, r := range s.Runs {
		outcome, reason := "", noEnd
		switch {
		case r.Outcome != nil:
			outcome, reason = *r.Outcome, ""
		case s.works(r):
			outcome, reason = "under way", ""
		}
		if r.Reason != nil {
			reason = *r.Reason
		}
		t.add(fmt.Sprint(r.Run), r.Kind, r.Hour, r.StartedAt, dash(outcome),
			fmt.Sprint(r.Fetched), fmt.Sprint(r.Failed), fmt.Sprint(r.Throttled), fmt.Sprint(r.New), fmt.Sprint(r.Updated), dash(reason))
	}
	return t
}

// works says whether a run without outcome is alive, as far as that can be known: of other machines it cannot. A holder that has just begun
// does not say yet which run it is.
func (s status) works(r statusRun) bool {
	switch {
	case r.Host != s.host:
		return true
	case s.holder == nil:
		return false
	case s.holder.Run != 0:
		return s.holder.Run == r.Run
	default:
		return r.StartedAt >= stamp(s.holder.Since)
	}
}

// stepTable shows the steps after the merge that failed.
func (s status) stepTable() *table {
	t := newTable("FAILED STEP", "HOUR", "WHY")
	t.whole = true
	for _, step := range s.Steps {
		t.add(step.Name, step.Hour, step.Error)
	}
	return t
}
