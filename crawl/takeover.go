package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"crawl/state"
)

// The kinds of work that hold the run lock.
const (
	kindRun       = "run"
	kindHalfCheck = "half-check"
	kindMigration = "migration"
)

// lockWait is how long the lock may stay held after its holder is gone.
const lockWait = 10 * time.Second

// takeover is what a session knows of the process that it ended.
type takeover struct {
	since time.Time // when that began
	why   string
}

// acquire takes the run lock, from a holder that has been overtaken or that stalls if need be. A nil lock without error means
// that another process rightly works: it is returned.
func (s *session) acquire(ctx context.Context) (*state.Lock, *state.Holder, error) {
	lock, holder, err := s.waitForLock(ctx, migrationWait, func(h *state.Holder) bool { return h.Kind == kindMigration })
	if err != nil || lock != nil {
		return lock, holder, err
	}
	why := s.overtaken(holder)
	if why == "" {
		return nil, holder, nil
	}
	s.cfg.Log.Info("take over", slog.String("why", why), slog.Int("pid", holder.PID))
	switch err = holder.Terminate(ctx, s.cfg.Settings.TakeoverWait); {
	case err == nil:
		s.ended = &takeover{since: holder.Since, why: why}
		s.cfg.Log.Warn("a process was ended, and its work is taken over", slog.String("kind", holder.Kind), slog.Int64("run", holder.Run),
			slog.Int("pid", holder.PID), slog.Time("since", holder.Since), slog.String("why", why))
	case !errors.Is(err, state.ErrStranger): // one that is gone died by itself
		return nil, nil, fmt.Errorf("end the process %d, which holds the lock of %s: %w", holder.PID, s.dir.Path, err)
	}
	lock, holder, err = s.waitForLock(ctx, lockWait, func(*state.Holder) bool { return true })
	if err == nil && lock == nil {
		err = fmt.Errorf("the lock of %s is still held (process %d)", s.dir.Path, holder.PID)
	}
	return lock, holder, err
}

// overtaken says why the holder's right to the lock has ended, "" if it has not.
func (s *session) overtaken(h *state.Holder) string {
	now := s.cfg.Now()
	switch {
	case h.Hour.IsZero(), h.Kind == kindMigration: // it has only just begun, or must not be disturbed
		return ""
	case h.Hour.Before(s.hour):
		return "its hour is over"
	case h.Hour.Equal(s.hour) && s.kind == kindHalfCheck && now.Sub(h.Progress) > s.cfg.Settings.StallAfter:
		return "no progress for " + now.Sub(h.Progress).Round(time.Second).String()
	}
	return ""
}

func (s *session) tryLock() (*state.Lock, *state.Holder, error) {
	lock, err := s.dir.Lock(s.holder())
	var held *state.HeldError
	if errors.As(err, &held) {
		return nil, &held.Holder, nil
	}
	return lock, nil, err
}

// waitForLock tries until the lock is free, its holder is not worth waiting for, or the wait is over; then it gives the last holder.
func (s *session) waitForLock(ctx context.Context, wait time.Duration, worth func(*state.Holder) bool) (*state.Lock, *state.Holder, error) {
	deadline := time.Now().Add(wait)
	for {
		lock, holder, err := s.tryLock()
		if err != nil || lock != nil {
			return lock, nil, err
		}
		if !worth(holder) || time.Now().After(deadline) {
			return nil, holder, nil
		}
		select {
		case <-ctx.Done():
			return nil, holder, context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
