package crawl

import (
	"testing"
	"time"

	"crawl/state"
)

// Who holds the lock keeps it in its own hour, unless it stalls and a half-check comes; a newer hour, an unknown holder and a
// migration always keep it.
func TestWhoIsOvertaken(t *testing.T) {
	hour := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	now := hour.Add(31 * time.Minute)
	tests := []struct {
		name   string
		kind   string
		holder state.Holder
		want   bool
	}{
		{"same hour, at work", kindHalfCheck, state.Holder{Kind: kindRun, Hour: hour, Progress: now.Add(-time.Minute)}, false},
		{"same hour, stalls, half-check", kindHalfCheck, state.Holder{Kind: kindRun, Hour: hour, Progress: now.Add(-11 * time.Minute)}, true},
		{"same hour, stalls, run", kindRun, state.Holder{Kind: kindRun, Hour: hour, Progress: now.Add(-11 * time.Minute)}, false},
		{"older hour, at work", kindRun, state.Holder{Kind: kindRun, Hour: hour.Add(-time.Hour), Progress: now}, true},
		{"older hour, half-check", kindHalfCheck, state.Holder{Kind: kindRun, Hour: hour.Add(-time.Hour), Progress: now}, true},
		{"newer hour", kindRun, state.Holder{Kind: kindRun, Hour: hour.Add(time.Hour), Progress: hour}, false},
		{"just begun", kindHalfCheck, state.Holder{}, false},
		{"a migration of an older hour", kindRun, state.Holder{Kind: kindMigration, Hour: hour.Add(-time.Hour)}, false},
	}
	for _, tt := range tests {
		s := &session{kind: tt.kind, hour: hour, cfg: Config{Now: func() time.Time { return now }, Settings: Settings{StallAfter: 10 * time.Minute}}}
		if why := s.overtaken(&tt.holder); (why != "") != tt.want {
			t.Errorf("%s: overtaken %q, want %v", tt.name, why, tt.want)
		}
	}
}

func TestLeasesLapse(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 30, 0, 0, time.UTC)
	l := &leases{now: func() time.Time { return now }}
	l.take("host/1", "boot")
	if now = now.Add(leaseTime - time.Second); !l.valid() {
		t.Error("a lease does not last its time")
	}
	if now = now.Add(time.Second); l.valid() {
		t.Error("a lease outlives its time: a process that was stopped would send")
	}
	l.renewed(now.Add(leaseTime))
	if !l.valid() {
		t.Error("a renewed lease is not valid")
	}
}
