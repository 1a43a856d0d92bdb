package feed

import (
	"strconv"
	"strings"
	"time"
)

// What a document says of its own schedule.

// maxInterval bounds what a feed may ask for; the caller has a lower limit of its own.
const maxInterval = 366 * 24 * time.Hour

// timeToLive reads RSS ttl, in minutes.
func timeToLive(s string) time.Duration {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) {
		return 0
	}
	return min(time.Duration(min(n, 1e6)*float64(time.Minute)), maxInterval).Truncate(time.Second)
}

// skipHours reads the hours of skipHours as bits; 24 means 0. All hours listed is a mistake and means none.
func skipHours(list []string) uint64 {
	bits := uint64(0)
	for _, s := range list {
		if n, err := strconv.Atoi(strings.TrimSpace(s)); err == nil && 0 <= n && n <= 24 {
			bits |= 1 << (n % 24)
		}
	}
	if bits == 1<<24-1 {
		return 0
	}
	return bits
}

// skipDays reads the English names of skipDays as bits, Sunday first. All days listed is a mistake and means none.
func skipDays(list []string) uint64 {
	bits := uint64(0)
	for _, s := range list {
		for d := time.Sunday; d <= time.Saturday; d++ {
			if strings.EqualFold(strings.TrimSpace(s), d.String()) {
				bits |= 1 << d
			}
		}
	}
	if bits == 1<<7-1 {
		return 0
	}
	return bits
}
