package feed

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// parseDate reads a date in any form that feeds use: RFC 3339 and ISO 8601, RFC 822 and its relatives, asctime, numbers,
// with lower-case zones, comments, inner blanks, 12-hour times and month names in other languages. A date without zone is
// UTC. The zero time stands for what is missing, unreadable, or of year 1 and before. Fractions of a second are dropped.
func parseDate(s string) time.Time {
	if len(s) > 200 {
		return time.Time{}
	}
	s = strings.TrimSpace(s)
	t, ok := parseISO(s)
	if !ok {
		t, ok = parseWords(s)
	}
	if !ok || t.Year() <= 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC()
}

// digits reads up to n digits at the start of s.
func digits(s string, n int) (value, length int) {
	for length < len(s) && length < n && '0' <= s[length] && s[length] <= '9' {
		value = value*10 + int(s[length]-'0')
		length++
	}
	return value, length
}

// parts of a date as they are found; -1 is unknown.
type moment struct {
	year, month, day     int
	hour, minute, second int
	offset               int // seconds east of UTC
}

func (m moment) time() (time.Time, bool) {
	if m.month < 1 || m.month > 12 || m.day < 1 || m.day > 31 || m.hour < 0 || m.hour > 24 || m.minute < 0 || m.minute > 59 ||
		m.second < 0 || m.second > 60 || m.offset < -24*3600 || m.offset > 24*3600 || m.year < 0 {
		return time.Time{}, false
	}
	t := time.Date(m.year, time.Month(m.month), m.day, m.hour, m.minute, min(m.second, 59), 0, time.UTC)
	if t.Day() != m.day && m.hour < 24 { // 30 February
		return time.Time{}, false
	}
	return t.Add(-time.Duration(m.offset) * time.Second), true
}

// parseISO reads dates that begin with a year of four digits (RFC 3339, ISO 8601, W3C-DTF), with one-digit months and
// days, '/' or '.' for '-', a blank for 'T', or no separators at all.
func parseISO(s string) (time.Time, bool) {
	m := moment{month: 1, day: 1}
	var n int
	if m.year, n = digits(s, 4); n != 4 {
		return time.Time{}, false
	}
	s = s[4:]
	compact := len(s) >= 4 && allDigits(s[:4])
	for i, field := range []*int{&m.month, &m.day} {
		if s == "" || !compact && s[0] != '-' && s[0] != '/' && s[0] != '.' {
			if i == 0 && s != "" {
				return time.Time{}, false
			}
			break
		}
		if !compact {
			s = s[1:]
		}
		if *field, n = digits(s, 2); n == 0 {
			return time.Time{}, false
		}
		s = s[n:]
	}
	rest := strings.TrimLeft(s, "Tt ,")
	if rest == "" {
		return m.time()
	}
	if rest == s && s[0] >= '0' && s[0] <= '9' {
		return time.Time{}, false
	}
	rest = strings.TrimPrefix(rest, "at ")
	rest, ok := m.clock(rest)
	if !ok {
		if m.offset, ok = zone(rest); ok { // 2004-07-01Z
			return m.time()
		}
		return time.Time{}, false
	}
	if m.offset, ok = zone(rest); !ok {
		return time.Time{}, false
	}
	return m.time()
}

func allDigits(s string) bool {
	_, n := digits(s, len(s))
	return n == len(s)
}

// clock reads hh:mm[:ss[.fraction]] or hhmm[ss] with an optional am or pm, and gives what follows.
func (m *moment) clock(s string) (rest string, ok bool) {
	var n int
	if m.hour, n = digits(s, 2); n == 0 {
		return s, false
	}
	s = s[n:]
	colon := s != "" && (s[0] == ':' || s[0] == '.' && len(s) > 2)
	if !colon && (len(s) < 2 || !allDigits(s[:2])) {
		if ampm(s) == "" && s != "" && s[0] != 'Z' && s[0] != 'h' {
			return s, false
		}
	}
	for _, field := range []*int{&m.minute, &m.second} {
		if s == "" || colon && s[0] != ':' && s[0] != '.' || !colon && (s[0] < '0' || s[0] > '9') {
			break
		}
		if colon {
			s = s[1:]
		}
		if *field, n = digits(s, 2); n == 0 {
			return s, false
		}
		s = s[n:]
	}
	if s != "" && (s[0] == '.' || s[0] == ',') {
		_, n = digits(s[1:], len(s))
		s = s[1+n:]
	}
	s = strings.TrimSpace(s)
	if half := ampm(s); half != "" {
		s = strings.TrimLeft(s[len(half):], ". ")
		if m.hour == 12 {
			m.hour = 0
		}
		if half[0]|0x20 == 'p' {
			m.hour += 12
		}
	}
	return s, true
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

// zone reads a zone: nothing, Z, ±hh[:mm], a name, GMT+1, or a name after an offset.
func zone(s string) (offset int, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" || s == "Z" || s == "z" {
		return 0, true
	}
	if open := strings.IndexByte(s, '('); open >= 0 {
		return zone(s[:open])
	}
	if isLetter(s[0]) {
		n := 0
		for n < len(s) && isLetter(s[n]) {
			n++
		}
		rest := strings.TrimSpace(s[n:])
		base, known := zones[strings.ToUpper(s[:n])]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			return numericZone(rest)
		}
		return base, known || n <= 5
	}
	return numericZone(s)
}

func numericZone(s string) (offset int, ok bool) {
	sign := 1
	switch s = strings.TrimLeft(s, ":"); {
	case s == "":
		return 0, true
	case s[0] == '-':
		sign = -1
	case s[0] != '+':
		if _, n := digits(s, 4); n == 4 || strings.HasPrefix(s, "00") { // "0000", a lost sign
			return 0, true
		}
		return 0, false
	}
	s = strings.TrimLeft(s, "+- ")
	hours, n := digits(s, 2)
	if n == 0 {
		return 0, false
	}
	s = strings.TrimPrefix(s[n:], ":")
	if n == 1 && len(s) == 2 { // -700
		minutes, _ := digits(s, 2)
		return sign * (hours*3600 + minutes*60), true
	}
	minutes, _ := digits(s, 2)
	return sign * (hours*3600 + minutes*60), hours <= 24 && minutes < 60
}

// zones are the names that RFC 822 defines and those often seen beside them (seconds east of UTC).
var zones = map[string]int{
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "EST": -5 * 3600, "EDT": -4 * 3600, "ET": -5 * 3600,
	"CST": -6 * 3600, "CDT": -5 * 3600, "CT": -6 * 3600, "MST": -7 * 3600, "MDT": -6 * 3600, "MT": -7 * 3600,
	"PST": -8 * 3600, "PDT": -7 * 3600, "PT": -8 * 3600, "AKST": -9 * 3600, "AKDT": -8 * 3600, "HST": -10 * 3600,
	"AST": -4 * 3600, "ADT": -3 * 3600, "NST": -12600, "NDT": -9000, "BRT": -3 * 3600, "ART": -3 * 3600,
	"BST": 3600, "IST": 19800, "WEST": 3600, "CET": 3600, "MET": 3600, "MEZ": 3600, "CEST": 7200, "MEST": 7200,
	"MESZ": 7200, "EET": 7200, "SAST": 7200, "EEST": 3 * 3600, "MSK": 3 * 3600, "MSD": 4 * 3600, "PKT": 5 * 3600,
	"HKT": 8 * 3600, "SGT": 8 * 3600, "AWST": 8 * 3600, "JST": 9 * 3600, "KST": 9 * 3600, "ACST": 34200,
	"ACDT": 37800, "AEST": 10 * 3600, "AEDT": 11 * 3600, "NZST": 12 * 3600, "NZDT": 13 * 3600,
}

// parseWords reads dates whose parts stand in any order, told apart by their form: a month by its name, a time by its
// colon, a zone by its sign or letters, a year by its four digits or its place.
func parseWords(s string) (time.Time, bool) {
	m := moment{year: -1, month: -1, day: -1}
	var numbers []string
	timed := false
	rest := strings.TrimSpace(withoutComments(s))
	for rest != "" {
		word, next := cutWord(rest)
		switch {
		case !timed && isClock(word):
			after, ok := m.clock(strings.TrimSpace(word + next))
			if !ok {
				return time.Time{}, false
			}
			timed = true
			next = after
		case word[0] >= '0' && word[0] <= '9':
			if timed && len(numbers) >= 2 && len(word) == 4 && m.year >= 0 {
				break
			}
			numbers = append(numbers, word)
		case (word[0] == '+' || word[0] == '-') && timed:
			var ok bool
			if m.offset, ok = numericZone(word); !ok {
				return time.Time{}, false
			}
		default:
			if n := monthOf(word); n > 0 && m.month < 0 {
				m.month = n
			} else if offset, ok := zones[strings.ToUpper(word)]; ok && timed {
				m.offset = offset
			}
		}
		rest = strings.TrimLeft(next, " \t\r\n,;")
	}
	if !m.assign(numbers) {
		return time.Time{}, false
	}
	return m.time()
}

// withoutComments drops what stands in parentheses (RFC 822, 3.4.3).
func withoutComments(s string) string {
	for {
		open := strings.IndexByte(s, '(')
		if open < 0 {
			return s
		}
		end := strings.IndexByte(s[open:], ')')
		if end < 0 {
			return s[:open]
		}
		s = s[:open] + " " + s[open+end+1:]
	}
}

// cutWord takes a run of letters, or a number with the separators within it, or a signed number.
func cutWord(s string) (word, rest string) {
	r, size := utf8.DecodeRuneInString(s)
	end := size
	letters := unicode.IsLetter(r)
	for end < len(s) {
		r, size = utf8.DecodeRuneInString(s[end:])
		if letters != (unicode.IsLetter(r) || letters && r == '.') || !letters && !strings.ContainsRune("0123456789:.", r) {
			break
		}
		end += size
	}
	if !letters && end < len(s) && (s[end] == '/' || s[end] == '-') && s[0] != '+' && s[0] != '-' && end <= 4 {
		return s[:end], s[end+1:] // 2/1/2006, 02-Jan-06
	}
	return s[:end], strings.TrimPrefix(s[end:], "-")
}

func isClock(word string) bool {
	n := strings.IndexByte(word, ':')
	return (n == 1 || n == 2) && allDigits(word[:n])
}

// assign gives the numbers of a date their meaning.
func (m *moment) assign(words []string) bool {
	numbers := make([]int, 0, 3)
	year := -1
	for _, w := range words {
		n, err := strconv.Atoi(strings.TrimRight(w, ".:"))
		if err != nil || len(numbers) == 3 {
			if parts := strings.Split(w, "."); err != nil && len(parts) == 3 && len(numbers) == 0 { // 02.01.2006
				return m.assign(parts)
			}
			return false
		}
		if len(w) == 4 || n > 31 {
			year = len(numbers)
		}
		numbers = append(numbers, n)
	}
	switch {
	case m.month > 0 && len(numbers) == 2:
		m.day, m.year = numbers[0], numbers[1]
		if year == 0 {
			m.day, m.year = numbers[1], numbers[0]
			return true
		}
		return m.century(words[1])
	case m.month < 0 && len(numbers) == 3 && year != 1:
		m.day, m.month, m.year = numbers[0], numbers[1], numbers[2]
		if m.month > 12 {
			m.day, m.month = m.month, m.day
		}
		return m.century(words[2])
	}
	return false
}

// century completes a year of two digits: below 50 it is 20xx.
func (m *moment) century(word string) bool {
	if len(strings.TrimRight(word, ".")) <= 2 {
		if m.year += 1900; m.year < 1950 {
			m.year += 100
		}
	}
	return true
}
