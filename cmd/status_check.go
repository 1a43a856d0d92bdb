package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"crawl/crawl"
	"crawl/store"
)

// lastRun is the run of this directory that the flag names, else the last one of this hour; nil if there is none.
func (s status) lastRun(ctx context.Context, db *store.Store, hour time.Time) (*statusRun, error) {
	if s.flag != nil {
		hour = s.flag.Hour
	}
	runs, err := db.RunsOf(ctx, s.host, hour)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if s.flag == nil || r.ID == s.flag.Run {
			last := statusRunOf(r)
			return &last, nil
		}
	}
	return nil, nil
}

// judge is the verdict for monitors: an error where something is stuck, or where the hour is not complete and nobody works on it.
func (s status) judge(a *app) error {
	wrong := s.unfinished()
	if s.holder != nil && !s.holder.Progress.IsZero() && a.now().Sub(s.holder.Progress) > a.run.StallAfter {
		wrong = append(wrong, whoWorks(*s.holder)+" has made no progress since "+stamp(s.holder.Progress))
	}
	if s.kill != nil {
		wrong = append(wrong, "the kill flag is up since "+stamp(s.kill.At))
	}
	if len(wrong) == 0 {
		return nil
	}
	hint := "crawl status shows more; crawl half-check finishes what is left, crawl run ends a kill"
	switch {
	case s.left > 0 && s.flag == nil && s.holder == nil:
		hint = crawl.LeftHint
	case s.hookOwed():
		hint = "crawl half-check repeats the hook where --hook, CRAWL_HOOK or the settings file names it"
	}
	return &hintedError{errors.New(strings.Join(wrong, "; ")), hint}
}

// unfinished says what is left, and how that which should have done it ended. Nothing is while somebody works.
func (s status) unfinished() (why []string) {
	if s.holder != nil {
		return nil
	}
	open := s.open()
	if s.left > 0 {
		why = append(why, open+"the half-check left "+store.Count(s.left, "feed"))
	}
	for _, step := range s.Steps {
		if step.Hour == s.Hour {
			why = append(why, fmt.Sprintf("%s of %s: %s", step.Name, step.Hour, step.Error))
		}
	}
	if s.hookOwed() {
		why = append(why, "no hook is set here, and without one the half-check does not repeat it")
	}
	switch {
	case s.flag != nil && s.last == nil:
		why = append(why, fmt.Sprintf("%s %d of %s has not finished", s.flag.Kind, s.flag.Run, stamp(s.flag.Hour)))
	case s.flag != nil:
		why = append(why, s.last.ended())
	case s.damaged:
		why = append(why, "the flag of the last run cannot be read")
	case s.Complete || len(why) > 0:
	case s.last == nil:
		why = append(why, open+"no run of it has begun")
	case s.last.Outcome == nil || *s.last.Outcome != crawl.Done:
		why = append(why, open+s.last.ended())
	default:
		why = append(why, open+s.toDo())
	}
	return why
}

// open begins what is said of an hour that is not complete.
func (s status) open() string { return "the hour that began at " + s.Hour + " is not complete: " }

// hookOwed tells whether the hook failed in this hour, and none is set that could be called again.
func (s status) hookOwed() bool {
	for _, step := range s.Steps {
		if step.Name == "hook" && step.Hour == s.Hour {
			return !s.hook
		}
	}
	return false
}

// noEnd is what became of a run that has no outcome and works no more: which of the two it was, nobody knows.
const noEnd = "died, or could not record its end"

// ended says how a run ended that left something to do.
func (r statusRun) ended() string {
	text := fmt.Sprintf("%s %d of %s", r.Kind, r.Run, r.Hour)
	switch {
	case r.Outcome == nil:
		return text + " " + noEnd
	case *r.Outcome == crawl.Done: // but what follows that did not end well
		return text + " has not finished"
	case r.Reason == nil:
		return text + ": " + *r.Outcome
	}
	return text + ": " + *r.Outcome + ": " + *r.Reason
}

// toDo names the categories that are not done this hour.
func (s status) toDo() string {
	var names []string
	for _, c := range s.Categories {
		if !c.Done {
			names = append(names, c.Name)
		}
	}
	if shown := 3; len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d more", len(names)-shown))
	}
	return "to do: " + strings.Join(names, ", ")
}
