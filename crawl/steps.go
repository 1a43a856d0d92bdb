package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"crawl/store"
)

// step is one thing to do after the merge. It is safe to repeat; that it was done is recorded when it has ended well.
type step struct {
	name string
	// due tells whether there is something to do, after what the step has dealt with up to seq. Nil: once an hour of whole runs.
	due func(ctx context.Context, seq int64) (bool, error)
	// run returns the highest seq that it has dealt with, 0 if that means nothing to it.
	run func(ctx context.Context, seq int64) (int64, error)
}

// afterMerge lists the steps in their order.
func (s *session) afterMerge() []step {
	return []step{
		{name: "hook", due: s.hookDue, run: s.hook},
		{name: "optimize", run: func(ctx context.Context, _ int64) (int64, error) {
			return 0, s.store.Optimize(ctx)
		}},
	}
}

// dueSteps gives the steps that are due. Without any category of this hour none is that is due once an hour.
func (s *session) dueSteps(ctx context.Context, any bool) ([]step, error) {
	var out []step
	for _, st := range s.afterMerge() {
		if st.due == nil && !any {
			continue
		}
		due, err := s.isDue(ctx, st)
		if err != nil {
			return nil, err
		}
		if due {
			out = append(out, st)
		}
	}
	return out, nil
}

func (s *session) isDue(ctx context.Context, st step) (bool, error) {
	if st.due == nil {
		done, err := s.store.StepDone(ctx, s.dir.ID, s.hour, st.name)
		return s.whole() && !done, err
	}
	seq, err := s.store.StepSeq(ctx, s.dir.ID, st.name)
	if err != nil {
		return false, err
	}
	return st.due(ctx, seq)
}

// steps runs those that are due. One that fails is logged and does not stop the others; the half-check repeats it.
func (s *session) steps(ctx context.Context) error {
	due, err := s.dueSteps(context.WithoutCancel(ctx), true)
	if err != nil {
		return err
	}
	for _, st := range due {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		done, total, _, _ := s.beat.read()
		s.beat.step(st.name, done, total, s.cfg.Now())
		if err := s.lock.Note(s.holder()); err != nil {
			return err
		}
		err := s.step(ctx, st)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, errStepFailed) && !errors.Is(err, store.ErrReplaced):
			s.cfg.Log.Warn("a step after the merge failed; the next half-check or run repeats it", slog.String("step", st.name), slog.Any("error", err))
			if err := s.stepFailed(ctx, st, err); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// errStepFailed marks a failure of the step itself, not of its record.
var errStepFailed = errors.New("step failed")

// stepFailed keeps the reason, for who asks later.
func (s *session) stepFailed(ctx context.Context, st step, cause error) error {
	return s.store.FailStep(context.WithoutCancel(ctx), store.Step{
		Host: s.dir.ID, Hour: s.hour, Name: st.name, Error: reason(cause),
	})
}

// keepBeating tells the lock file of progress while a step runs: each has a time limit of its own and needs no other's judgement. A lock
// that is lost ends the step by cancel.
func (s *session) keepBeating(name string, cancel context.CancelCauseFunc) (stop func()) {
	return inBackground(func(still <-chan struct{}) {
		s.eachBeat(still, func() bool {
			done, total, _, _ := s.beat.read()
			s.beat.step(name, done, total, s.cfg.Now())
			return s.noteBeat(cancel)
		})
	})
}

// step runs one and records that. If it ends because the lock is lost, that is no failure of its own.
func (s *session) step(ctx context.Context, st step) error {
	seq, err := s.store.StepSeq(context.WithoutCancel(ctx), s.dir.ID, st.name)
	if err != nil {
		return err
	}
	s.cfg.point("step-before-" + st.name)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := s.keepBeating(st.name, cancel)
	seq, err = st.run(ctx, seq)
	stop()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errStepFailed, err)
	}
	s.cfg.point("step-after-" + st.name)
	return s.store.FinishStep(context.WithoutCancel(ctx), store.Step{
		Host: s.dir.ID, Hour: s.hour, Name: st.name, FinishedAt: s.cfg.Now(), Seq: seq,
	})
}
