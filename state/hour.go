package state

import "time"

// Hour returns the UTC instant at which the cron hour holding now begins, for hours that begin at the given local
// minute (0–59) of now's location.
//
// The local minutes are subtracted, for nothing else is right: Truncate(time.Hour) gives a run and its half-check
// different hours in zones that are off by half an hour, and time.Date(…, 30, …) merges the two real hours of the autumn
// change into one.
func Hour(now time.Time, startMinute int) time.Time {
	minutes := (now.Minute() - startMinute + 60) % 60
	past := time.Duration(minutes)*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
	return now.Add(-past).Round(0).UTC()
}
