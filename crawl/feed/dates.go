package feed

import (
	"strings"
	"time"
)

// parseDate reads a date in any form that feeds use: RFC 3339 and ISO 8601, RFC 822 and its relatives, asctime, numbers,
// with lower-case zones, comments, inner blanks, 12-hour times and month names in other languages. A date without zone is
// UTC. The zero time stands for what is missing, unreadable, or of year 1 and before. Fractions of a second are dropped.
func parseDate(s string) time.Time {
	if s = strings.TrimSpace(s); s == "" || len(s) > maxDate {
		return time.Time{}
	}
	s = latin(s)
	m, ok := parseISO(s)
	if !ok {
		if m, ok = parseWords(s); !ok {
			return time.Time{}
		}
	}
	t, ok := m.time()
	if !ok || t.Year() <= 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

const maxDate = 200 // bytes that a date may take

// moment is a date in its parts; year, month and day are -1 while unknown.
type moment struct {
	year, month, day     int
	hour, minute, second int
	offset               int // seconds east of UTC
}

// time checks the parts. A leap second counts as the second before it, and 24:00 as midnight.
func (m *moment) time() (time.Time, bool) {
	if m.year < 0 || m.month < 1 || m.month > 12 || m.day < 1 || m.day > 31 ||
		m.hour > 24 || m.minute > 59 || m.second > 60 || max(m.offset, -m.offset) > 24*3600 {
		return time.Time{}, false
	}
	day := time.Date(m.year, time.Month(m.month), m.day, 0, 0, 0, 0, time.UTC)
	if day.Day() != m.day { // 30 February
		return time.Time{}, false
	}
	seconds := m.hour*3600 + m.minute*60 + min(m.second, 59) - m.offset
	return day.Add(time.Duration(seconds) * time.Second), true
}

// digits reads up to n digits at the start of s.
func digits(s string, n int) (value, length int) {
	for length < len(s) && length < n && '0' <= s[length] && s[length] <= '9' {
		value = value*10 + int(s[length]-'0')
		length++
	}
	return value, length
}

// parseISO reads dates that begin with the year (RFC 3339, ISO 8601, W3C-DTF): with one-digit months and days, '/' or '.'
// for '-', a blank for 'T', no separators at all, or a year of two digits; and seconds since 1970.
func parseISO(s string) (m moment, ok bool) {
	m = moment{month: 1, day: 1}
	year, n := digits(s, 14)
	switch {
	case n == len(s) && (n == 10 || n == 13):
		return epoch(s[:10]), true
	case n == 8 || n == 14: // 20061231, 20061231235959
		m.year, _ = digits(s, 4)
		m.month, _ = digits(s[4:], 2)
		m.day, _ = digits(s[6:], 2)
		s = s[8:]
	case n == 4, n == 2 && len(s) > 8 && s[2] == '-' && (s[8] == 'T' || s[8] == 't'):
		if m.year, s = year, s[n:]; n == 2 {
			m.year = century(year)
		}
		for _, field := range []*int{&m.month, &m.day} {
			if s == "" || strings.IndexByte("-/.", s[0]) < 0 {
				break
			}
			if *field, n = digits(s[1:], 2); n == 0 {
				return m, false
			}
			s = s[1+n:]
		}
	default:
		return m, false
	}
	rest := strings.TrimLeft(s, "Tt ,")
	rest = strings.TrimPrefix(rest, "at ")
	if rest == "" {
		return m, true
	}
	half := ampm(rest)
	if clock, ok := m.clock(strings.TrimLeft(rest[len(half):], " ")); ok {
		if rest = clock; half != "" && half[0]|0x20 == 'p' && m.hour < 12 {
			m.hour += 12
		}
	}
	m.offset, ok = zone(rest)
	return m, ok
}

// epoch is a date by seconds since 1970.
func epoch(s string) moment {
	seconds, _ := digits(s, 10)
	t := time.Unix(int64(seconds), 0).UTC()
	return moment{year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), minute: t.Minute(), second: t.Second()}
}

// century completes a year of two digits: below 50 it is 20xx.
func century(year int) int {
	if year < 50 {
		return 2000 + year
	}
	return 1900 + year
}

// clock reads hh:mm[:ss[.fraction]], hh.mm, hhmm[ss] or hh with am or pm, and gives what follows.
func (m *moment) clock(s string) (rest string, ok bool) {
	hour, n := digits(s, 2)
	if n == 0 {
		return s, false
	}
	fields, tail := [3]int{hour}, s[n:]
	for i := 1; i < 3; i++ {
		next := strings.TrimPrefix(tail, ":")
		if next == tail && i == 1 && len(tail) > 2 && tail[0] == '.' {
			next = tail[1:]
		}
		value, n := digits(next, 2)
		if n == 0 || next == tail && (n != 2 || strings.Contains(s[:len(s)-len(tail)], ":")) {
			break
		}
		fields[i], tail = value, next[n:]
	}
	if tail != "" && (tail[0] == '.' || tail[0] == ',') {
		_, n := digits(tail[1:], len(tail))
		tail = tail[1+n:]
	}
	half := ampm(tail)
	if half == "" && len(s)-len(tail) <= 2 {
		return s, false // a number is no time
	}
	if half != "" {
		tail = strings.TrimLeft(tail, " ")[len(half):]
		if fields[0] %= 12; half[0]|0x20 == 'p' {
			fields[0] += 12
		}
	}
	m.hour, m.minute, m.second = fields[0], fields[1], fields[2]
	return tail, true
}

// ampm gives the am or pm that s begins with.
func ampm(s string) string {
	s = strings.TrimLeft(s, " ")
	for _, half := range []string{"a.m.", "p.m.", "am", "pm"} {
		if len(s) >= len(half) && strings.EqualFold(s[:len(half)], half) && (len(s) == len(half) || !isLetter(s[len(half)])) {
			return s[:len(half)]
		}
	}
	return ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// zone reads all of s as a zone: nothing, Z, ±hh[:mm], a name, or a name with an offset.
func zone(s string) (offset int, ok bool) {
	s = strings.Trim(withoutComments(s), " \t\r\n:")
	numeric := false
	for s != "" {
		switch c := s[0]; {
		case c == '+' || c == '-':
			n := 0
			if offset, n = numericZone(s); n == 0 {
				return 0, false
			}
			numeric = true
			s = s[n:]
		case isLetter(c):
			n := 1
			for n < len(s) && isLetter(s[n]) {
				n++
			}
			value, known := zones[strings.ToUpper(s[:n])]
			if !numeric {
				offset = value
			}
			if !known && n > 5 {
				return 0, false
			}
			s = s[n:]
		case '0' <= c && c <= '9': // "00", a lost sign
			if _, n := digits(s, 5); n == len(s) {
				return offset, true
			}
			return 0, false
		case c == ' ' || c == ',' || c == ':' || c == '/' || c == '_':
			s = s[1:]
		default:
			return 0, false
		}
	}
	return offset, true
}

// numericZone reads ±hh, ±hmm, ±hhmm, ±hh:mm at the start of s and gives its length, 0 if there is none.
func numericZone(s string) (offset, length int) {
	sign := 1
	for length < len(s) && (s[length] == '+' || s[length] == '-' || s[length] == ' ') {
		if s[length] == '-' {
			sign = -1
		}
		length++
	}
	value, n := digits(s[length:], 4)
	length += n
	hours, minutes := value/100, value%100
	switch n {
	case 0:
		return 0, 0
	case 1, 2:
		hours, minutes = value, 0
		if length < len(s) && s[length] == ':' {
			if value, k := digits(s[length+1:], 2); k == 2 {
				minutes = value
				length += 3
			}
		}
	}
	for length < len(s) && (s[length] == ':' || '0' <= s[length] && s[length] <= '9') { // seconds of an offset
		length++
	}
	return sign * (hours*3600 + min(minutes, 59)*60), length
}
