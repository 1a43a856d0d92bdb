package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"crawl/crawl/fetch"
	"crawl/state"
	"crawl/store"
)

// session is one invocation that holds the run lock.
type session struct {
	cfg     Config
	kind    string
	start   time.Time
	hour    time.Time
	options RunOptions
	forced  time.Time // the forced start that decides which snapshots count; zero: none

	dir    *state.Dir
	lock   *state.Lock
	ended  *takeover // the process that held the lock before; nil if it was free
	store  *store.Store
	client *fetch.Client
	epoch  int64
	run    int64 // row in runs; 0 until there is one
	beat   beat
	sum    Summary

	closedEarly bool // the half-check's deadline closed the hour with feeds left

	recovered int       // results of earlier snapshots that were merged
	unkept    int64     // the highest seq, if the directory has not kept it yet
	keptAt    time.Time // when the directory kept one last

	answers int // HTTP responses, whatever their status
	starved int // feeds that were left because no memory became free for their bodies
}

// begin opens the directory, takes the lock and opens the database. A session without lock has found another process at work,
// and its summary says so.
func begin(ctx context.Context, cfg Config, kind string) (*session, error) {
	s := &session{cfg: cfg, kind: kind, start: cfg.Now(), hour: cfg.hour()}
	s.sum = Summary{Kind: kind, Hour: s.hour, Outcome: Nothing}
	err := CheckPresent(cfg)
	if err != nil {
		return nil, err
	}
	if s.dir, err = openDir(cfg); err != nil {
		return nil, err
	}
	if kind == kindHalfCheck && s.killFlag() {
		return s, nil
	}
	if err = s.checkStartMinute(); err != nil {
		return nil, err
	}
	var holder *state.Holder
	if s.lock, holder, err = s.acquire(ctx); err != nil {
		return nil, err
	}
	if s.lock == nil {
		s.sum.Outcome, s.sum.Reason = Running, describeHolder(holder)
		return s, nil
	}
	if err = s.open(ctx); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

// describeHolder says who works. One that has just begun has not said yet who it is.
func describeHolder(h *state.Holder) string {
	if h.PID == 0 {
		return "another process has just begun"
	}
	return fmt.Sprintf("process %d works since %s (%s of the hour of %s)",
		h.PID, h.Since.UTC().Format(time.RFC3339), h.Kind, h.Hour.UTC().Format(time.RFC3339))
}

// killFlag tells whether the kill flag is up, and keeps why nothing will be done.
func (s *session) killFlag() bool {
	if !s.dir.Killed() {
		return false
	}
	s.sum.Reason = "the kill flag is up; the next crawl run clears it"
	if k, err := s.dir.Kill(); err == nil && k != nil {
		s.sum.Reason = fmt.Sprintf("the kill flag is up since %s; the next crawl run clears it", k.At.Format(time.RFC3339))
	}
	return true
}

// open does what needs the lock but no decision.
func (s *session) open(ctx context.Context) error {
	seen, err := s.dir.HighestSeq()
	if err != nil {
		return err
	}
	if err := CheckPresent(s.cfg); err != nil { // it may have gone while this waited for the lock
		return err
	}
	if err := s.noteAs(kindMigration); err != nil { // which is never taken over
		return err
	}
	if err := s.lookFirst(ctx); err != nil {
		return err
	}
	if s.kind == kindRun {
		if err := s.dir.ClearKill(); err != nil {
			return err
		}
	}
	if s.store, err = openDatabase(ctx, s.cfg, store.Options{Migrate: true, Stop: s.dir.Killed, Seen: seen, Committed: s.committed}); err != nil {
		return err
	}
	if err := s.dir.KeepStartMinute(s.cfg.Settings.StartMinute); err != nil { // which also says that this directory has worked with a database
		return err
	}
	if err := s.noteAs(s.kind); err != nil {
		return err
	}
	s.epoch, err = s.store.HoldEpoch(ctx)
	return err
}

// lookFirst gives what is wrong with the database, before the kill flag is cleared or another start minute is kept. If neither will be, it
// does not look: all else that a session writes comes after a look of its own.
func (s *session) lookFirst(ctx context.Context) error {
	kept, err := s.dir.StartMinute()
	if err != nil || kept == s.cfg.Settings.StartMinute && !(s.kind == kindRun && s.dir.Killed()) {
		return err
	}
	db, err := openDatabase(ctx, s.cfg, store.Options{})
	if errors.Is(err, store.ErrOutdated) { // and not damaged
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(db.CheckDamage(ctx), db.Close())
}

// keepEvery is how often a session keeps the highest seq: that is a durable write, and merges are many.
const keepEvery = time.Second

// committed keeps the highest seq, now and then; end keeps what is left.
func (s *session) committed(seq int64, renewed bool) {
	if renewed {
		s.cfg.warnRestored(seq)
	}
	s.unkept = seq
	if now := s.cfg.Now(); now.Sub(s.keptAt) >= keepEvery {
		s.keptAt = now
		if err := s.keepUnkept(); err != nil {
			s.cfg.Log.Warn("the highest seq cannot be kept", slog.Int64("seq", seq), slog.Any("error", err))
		}
	}
}

func (s *session) keepUnkept() error {
	if s.unkept == 0 {
		return nil
	}
	err := s.dir.KeepHighestSeq(s.unkept)
	if err == nil {
		s.unkept = 0
	}
	return err
}

// noteAs writes into the lock file what is being done.
func (s *session) noteAs(kind string) error {
	h := s.holder()
	h.Kind = kind
	return s.lock.Note(h)
}

func (s *session) keepSeq(ctx context.Context) error {
	seq, err := s.store.HighestSeq(ctx)
	if err != nil {
		return err
	}
	return s.dir.KeepHighestSeq(seq)
}

// checkStartMinute refuses another start minute while work of the old one is unfinished: its hours are other hours.
func (s *session) checkStartMinute() error {
	kept, err := s.dir.StartMinute()
	if err != nil || kept < 0 || kept == s.cfg.Settings.StartMinute {
		return err
	}
	flag, err := s.dir.LookFlag()
	var damaged *state.DamagedError
	if errors.As(err, &damaged) || err == nil && flag == nil {
		return nil // a damaged one is dealt with under the lock
	}
	if err != nil {
		return err
	}
	return &UsageError{
		Text: fmt.Sprintf("the start minute of %s is %d, and a run of it is unfinished", s.dir.Path, kept),
		Hint: fmt.Sprintf("finish it with crawl half-check --start-minute %d, then change the minute", kept),
	}
}

// reject sets a damaged file of the directory aside, and says so.
func (s *session) reject(damaged *state.DamagedError) {
	damaged = s.dir.Reject(damaged)
	s.cfg.Log.Warn("a damaged file was set aside",
		slog.String("file", damaged.Path), slog.String("reason", damaged.Reason), slog.String("moved_to", damaged.MovedTo))
}

// contain takes from an error the damage of a file, which is then as one that is not there and holds nothing up. Who has the lock sets it
// aside, unless the database is damaged too: then nothing is. Whoever only reads passes it over.
func (s *session) contain(ctx context.Context, err error) (damaged bool, rest error) {
	var damage *state.DamagedError
	if !errors.As(err, &damage) {
		return false, err
	}
	if s.lock == nil {
		s.cfg.Log.Warn("a damaged file is passed over", slog.String("file", damage.Path), slog.String("reason", damage.Reason))
		return true, nil
	}
	if err := s.store.CheckDamage(ctx); err != nil {
		return false, err
	}
	s.reject(damage)
	return true, nil
}

// flag gives the flag, nil if there is none.
func (s *session) flag(ctx context.Context) (*state.Flag, error) {
	flag, err := s.dir.LookFlag()
	if damaged, err := s.contain(ctx, err); damaged || err != nil {
		return nil, err
	}
	return flag, nil
}

// end lets go of everything. Ending twice is harmless.
func (s *session) end() error {
	var err error
	if s.client != nil {
		s.disconnect()
	}
	if s.store != nil {
		err = errors.Join(s.keepUnkept(), s.store.Close())
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Unlock())
	}
	s.client, s.store, s.lock = nil, nil, nil
	return err
}

// connect makes the client, which goes on with the TLS sessions of earlier runs. They save time alone: without them all is as well.
func (s *session) connect() error {
	var err error
	if s.cfg.Fetch.Sessions, err = s.dir.Sessions(); err != nil {
		s.cfg.Log.Info("begin without TLS sessions", slog.Any("error", err))
	}
	s.client, err = fetch.New(s.cfg.Fetch)
	return err
}

// disconnect closes the client and keeps its TLS sessions.
func (s *session) disconnect() {
	s.client.Close()
	if sessions := s.client.Sessions(); sessions != nil {
		if err := s.dir.KeepSessions(sessions); err != nil {
			s.cfg.Log.Info("the TLS sessions are not kept", slog.Any("error", err))
		}
	}
}

func (s *session) owner() string { return s.dir.ID + "/" + strconv.FormatInt(s.run, 10) }

// holder is what the lock file says of this session.
func (s *session) holder() state.Holder {
	done, total, phase, progress := s.beat.read()
	if progress.IsZero() {
		progress = s.start
	}
	return state.Holder{
		Run: s.run, Kind: s.kind, Hour: s.hour, Since: s.start,
		Phase: phase, Progress: progress, Done: done, Total: total,
	}
}
