package state

import (
	"testing"
	"time"
	_ "time/tzdata"
)

// TestHourOfEveryCronInstant goes through 2026 in 7 zones in steps of 15 minutes, on which all their offsets lie, and
// holds the last instant at which cron's "30 * * * *" fired to be the beginning of the cron hour.
func TestHourOfEveryCronInstant(t *testing.T) {
	fired := 0
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
		"Asia/Kathmandu", "America/St_Johns"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		var last time.Time
		for at := time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC); at.Year() < 2027 || at.In(zone).Year() < 2027; at = at.Add(15 * time.Minute) {
			local := at.In(zone)
			if local.Format("04") == "30" {
				last = at
				if local.Year() == 2026 {
					fired++
				}
			}
			if last.IsZero() {
				continue
			}
			for _, past := range []time.Duration{0, time.Nanosecond, 14*time.Minute + 59*time.Second + 999999999} {
				if got := Hour(local.Add(past), 30); !got.Equal(last) {
					t.Fatalf("%s: %v: hour %v, cron fired last at %v", name, local.Add(past), got, last)
				}
			}
		}
	}
	if fired != 61321 {
		t.Errorf("cron fired %d times, want 61321", fired)
	}
}

func TestHour(t *testing.T) {
	tests := []struct {
		name, zone, now string // now with its offset tells the two hours of autumn apart
		start           int
		want            string
	}{
		{"on the instant", "UTC", "2026-11-30T10:30:00Z", 30, "2026-11-30T10:30:00Z"},
		{"a second before", "UTC", "2026-11-30T10:29:59Z", 30, "2026-11-30T09:30:00Z"},
		{"a nanosecond before", "UTC", "2026-11-30T10:29:59.999999999Z", 30, "2026-11-30T09:30:00Z"},
		{"half-check", "UTC", "2026-11-30T11:00:00Z", 30, "2026-11-30T10:30:00Z"},
		{"late", "UTC", "2026-11-30T11:29:59Z", 30, "2026-11-30T10:30:00Z"},
		{"over midnight", "UTC", "2026-01-01T00:05:00Z", 30, "2025-12-31T23:30:00Z"},
		{"start 0", "UTC", "2026-11-30T10:59:59Z", 0, "2026-11-30T10:00:00Z"},
		{"start 5, before", "UTC", "2026-11-30T10:04:59Z", 5, "2026-11-30T09:05:00Z"},
		{"start 59, at", "UTC", "2026-11-30T10:59:00Z", 59, "2026-11-30T10:59:00Z"},
		{"start 59, before", "UTC", "2026-11-30T10:58:59Z", 59, "2026-11-30T09:59:00Z"},

		{"Berlin spring, before", "Europe/Berlin", "2026-03-29T01:59:59+01:00", 30, "2026-03-29T00:30:00Z"},
		{"Berlin spring, half-check after", "Europe/Berlin", "2026-03-29T03:00:00+02:00", 30, "2026-03-29T00:30:00Z"},
		{"Berlin spring, next", "Europe/Berlin", "2026-03-29T03:30:00+02:00", 30, "2026-03-29T01:30:00Z"},
		{"Berlin autumn, first 02:30", "Europe/Berlin", "2026-10-25T02:30:00+02:00", 30, "2026-10-25T00:30:00Z"},
		{"Berlin autumn, half-check between", "Europe/Berlin", "2026-10-25T02:00:00+01:00", 30, "2026-10-25T00:30:00Z"},
		{"Berlin autumn, second 02:30", "Europe/Berlin", "2026-10-25T02:30:00+01:00", 30, "2026-10-25T01:30:00Z"},
		{"Lord Howe spring", "Australia/Lord_Howe", "2026-10-04T02:30:00+11:00", 30, "2026-10-03T15:30:00Z"},
		{"Lord Howe autumn, first 01:30", "Australia/Lord_Howe", "2026-04-05T01:30:00+11:00", 30, "2026-04-04T14:30:00Z"},
		{"Lord Howe autumn, second 01:30", "Australia/Lord_Howe", "2026-04-05T01:30:00+10:30", 30, "2026-04-04T15:00:00Z"},

		{"half-hour zone", "Asia/Kolkata", "2026-11-30T16:00:00+05:30", 30, "2026-11-30T10:00:00Z"},
		{"45-minute zone", "Asia/Kathmandu", "2026-11-30T16:29:59+05:45", 30, "2026-11-30T09:45:00Z"},
		{"45-minute zone, start 0", "Asia/Kathmandu", "2026-11-30T16:29:59+05:45", 0, "2026-11-30T10:15:00Z"},
		{"negative half-hour zone", "America/St_Johns", "2026-11-30T07:00:00-03:30", 30, "2026-11-30T10:00:00Z"},
		{"negative zone", "America/New_York", "2026-11-30T19:10:00-05:00", 30, "2026-11-30T23:30:00Z"},
		{"before 1970", "UTC", "1969-12-31T23:29:59Z", 30, "1969-12-31T22:30:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			zone, err := time.LoadLocation(tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			now, err := time.Parse(time.RFC3339Nano, tt.now)
			if err != nil {
				t.Fatal(err)
			}
			if local := now.In(zone); local.Format(time.RFC3339Nano) != now.Format(time.RFC3339Nano) {
				t.Fatalf("%s is no local time of %s: that is %s", tt.now, tt.zone, local)
			}
			got := Hour(now.In(zone), tt.start)
			if got.Format(time.RFC3339Nano) != tt.want {
				t.Errorf("got %s, want %s", got.Format(time.RFC3339Nano), tt.want)
			}
		})
	}
}

// TestHourIsComparable: an hour taken from the running clock is the same value as one read from a file.
func TestHourIsComparable(t *testing.T) {
	hour := Hour(time.Now(), 30)
	read, err := time.Parse(time.RFC3339, hour.Format(time.RFC3339))
	if err != nil || hour != read.UTC() {
		t.Errorf("%#v is not %#v (%v)", hour, read, err)
	}
}
