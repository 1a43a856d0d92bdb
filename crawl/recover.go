package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"crawl/state"
	"crawl/store"
)

// mergeChunk is how many results go into one transaction: a transaction a feed costs three times as much.
const mergeChunk = 100

// found is what this directory has of earlier work, by category; all of it is in the database now.
type found struct {
	complete map[int64]state.Info
	parts    map[int64]state.Info // of this hour
}

// recover finishes old work, without network, before anything can overwrite it: snapshots that are not in the database, and
// what the part of another hour holds. Then the leases and runs of dead processes of this directory are closed, and what cannot be
// merged is set aside: last, for where the database is damaged nothing is. Where any of this is to be done damage is looked for first.
func (s *session) recover(ctx context.Context) (found, error) {
	infos, bad, err := s.dir.Look()
	if err != nil {
		return found{}, err
	}
	merged, err := s.store.MergedSnapshots(ctx, s.dir.ID)
	if err != nil {
		return found{}, err
	}
	f := found{complete: map[int64]state.Info{}, parts: map[int64]state.Info{}}
	var foreign, old []state.Info
	for _, info := range infos {
		switch {
		case info.Host != s.dir.ID || info.Epoch != s.epoch:
			foreign = append(foreign, info)
		case info.Complete && merged[info.Category].ID == info.Closing.ID:
			f.complete[info.Category] = info
		default:
			old = append(old, info)
		}
	}
	dead, err := s.store.LeftOpen(ctx, s.dir.ID)
	if err != nil {
		return found{}, err
	}
	if dead || len(bad)+len(foreign)+len(old) > 0 {
		if err := s.store.CheckDamage(ctx); err != nil {
			return found{}, err
		}
	}
	for _, info := range old {
		var damaged *state.DamagedError
		if err := s.finishOld(ctx, info, f); errors.As(err, &damaged) {
			bad = append(bad, damaged)
		} else if err != nil {
			return found{}, err
		}
	}
	if dead {
		if err := s.closeDead(ctx); err != nil {
			return found{}, err
		}
	}
	return f, s.setAside(bad, foreign)
}

// finishOld merges a snapshot that is not in the database, or a part, and adds it to what was found.
func (s *session) finishOld(ctx context.Context, info state.Info, f found) error {
	err := s.replay(ctx, info)
	switch {
	case err != nil:
		return err
	case info.Complete:
		f.complete[info.Category] = info
	case info.Header.Hour.Equal(s.hour):
		f.parts[info.Category] = info
	default:
		return s.dir.Discard(info)
	}
	return nil
}

// setAside moves away the files that cannot be merged: damaged ones, and those of another database.
func (s *session) setAside(bad []*state.DamagedError, foreign []state.Info) error {
	for _, b := range bad {
		s.reject(b)
	}
	if len(foreign) > 0 {
		s.cfg.Log.Warn("snapshots of another database are set aside in snapshots/bad",
			slog.Int("snapshots", len(foreign)), slog.String("first", foreign[0].Path))
	}
	for _, info := range foreign {
		if err := s.dir.SetAside(info); err != nil {
			return err
		}
	}
	return nil
}

// closeDead is for the holder of the lock: whatever of this directory has not ended otherwise is dead.
func (s *session) closeDead(ctx context.Context) error {
	if err := s.store.ClearLeases(ctx, s.dir.ID); err != nil {
		return err
	}
	if t := s.ended; t != nil {
		if err := s.store.CrashRuns(ctx, s.dir.ID, t.since, "a "+s.kind+" took over: "+t.why, s.cfg.Now()); err != nil {
			return err
		}
	}
	return s.store.CrashRuns(ctx, s.dir.ID, time.Time{}, "the process died, or could not record its end: nobody held the lock any more", s.cfg.Now())
}

// replay merges what a snapshot file holds. Of a file that is damaged further on the good lines are merged; the error is its
// *state.DamagedError then.
func (s *session) replay(ctx context.Context, info state.Info) error {
	var entries []store.Entry
	var weight int64
	var damage *state.DamagedError
	for line, err := range s.dir.Read(info) {
		if errors.As(err, &damage) {
			break
		}
		if err != nil {
			return err
		}
		e, err := decode(line)
		if err != nil {
			damage = &state.DamagedError{Path: info.Path, Reason: err.Error()}
			break
		}
		if e.Token == 0 {
			continue // left out: nothing to apply
		}
		weight += weigh(&e.Result)
		if entries = append(entries, e); len(entries) == mergeChunk || weight >= mergeWeight {
			if err := s.mergeOld(ctx, info, entries, nil); err != nil {
				return err
			}
			clear(entries)
			entries, weight = entries[:0], 0
		}
	}
	var closed []store.Snapshot
	if info.Complete && damage == nil {
		closed = []store.Snapshot{{Host: s.dir.ID, Category: info.Category, Hour: info.Closing.Hour, ID: info.Closing.ID}}
	}
	if len(entries) > 0 || len(closed) > 0 {
		if err := s.mergeOld(ctx, info, entries, closed); err != nil {
			return err
		}
	}
	if damage != nil {
		return damage
	}
	return nil
}

func (s *session) mergeOld(ctx context.Context, info state.Info, entries []store.Entry, closed []store.Snapshot) error {
	m, err := s.store.Merge(ctx, info.Run, entries, closed, s.cfg.Now())
	if err != nil {
		return fmt.Errorf("merge an earlier snapshot: %w", err)
	}
	s.sum.Items.New += m.New
	s.sum.Items.Updated += m.Updated
	s.recovered += m.Applied
	s.logFailed(m)
	s.beat.step("recover", s.recovered, 0, s.cfg.Now())
	return s.lock.Note(s.holder())
}

func (s *session) logFailed(m store.Merged) {
	for _, f := range m.Failed {
		s.cfg.Log.Warn("a feed's data cannot be stored", slog.Int64("feed", f.FeedID), slog.Any("error", f.Err))
	}
}

func decode(line state.Line) (store.Entry, error) {
	e := store.Entry{FeedID: line.Feed, URL: line.URL, Token: line.Token}
	if err := json.Unmarshal(line.Data, &e.Result); err != nil {
		return e, fmt.Errorf("the result of feed %d: %w", line.Feed, err)
	}
	return e, nil
}
