package feed

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// latin turns the units that stand behind the numbers of Chinese, Japanese and Korean dates into separators.
func latin(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return strings.TrimSpace(units().Replace(s))
		}
	}
	return s
}

var units = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("年", "-", "月", "-", "日", " ", "년", "-", "월", "-", "일", " ", "时", ":", "時", ":", "시", ":",
		"分", ":", "분", ":", "秒", " ", "초", " ", "오전", " am ", "오후", " pm ", "上午", " am ", "下午", " pm ", "午前", " am ", "午後", " pm ")
})

// words is a date whose parts stand in any order, as far as it has been read.
type words struct {
	moment
	numbers []int
	widths  []int  // of the numbers, in digits
	slashes bool   // the numbers are separated by '/'
	twelve  bool   // the time has am or pm
	strange int    // words without meaning: weekdays, "of", "at"
	half    string // am or pm that stands before the time
	timed   bool
	zoned   bool // by a number
}

// parseWords reads dates by the form of their parts: a month by its name, a time by its colon, a zone by its sign or
// letters, a year by its four digits or its place.
func parseWords(s string) (moment, bool) {
	w := words{moment: moment{year: -1, month: -1, day: -1}}
	if s = withoutComments(s); strings.Contains(s, "://") {
		return w.moment, false
	}
	for first := true; s != ""; first = false {
		s = w.take(s, first)
	}
	if w.half == "pm" && w.hour < 12 {
		w.hour += 12
	}
	return w.moment, w.strange <= maxStrange && w.assign()
}

const maxStrange = 4

// take reads one part from the front of s and gives the rest.
func (w *words) take(s string, first bool) string {
	c := s[0]
	switch {
	case '0' <= c && c <= '9':
		if !w.timed && isClock(s) {
			if rest, ok := w.clock(s); ok {
				w.timed = true
				w.twelve = strings.ContainsAny(s[:len(s)-len(rest)], "mM")
				return rest
			}
		}
		value, n := digits(s, 9)
		w.numbers, w.widths = append(w.numbers, value), append(w.widths, n)
		if s = s[n:]; len(s) >= 2 && (s[:2] == "st" || s[:2] == "nd" || s[:2] == "rd" || s[:2] == "th") {
			s = s[2:]
		}
		return s
	case (c == '+' || c == '-') && (w.timed || w.complete()):
		offset, n := numericZone(s)
		if n == 0 {
			return s[1:]
		}
		w.offset, w.zoned = offset, true
		return s[n:]
	case c < utf8.RuneSelf && !isLetter(c):
		w.slashes = w.slashes || c == '/'
		return s[1:]
	}
	end := 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			if end == 0 {
				return s[size:]
			}
			break
		}
		end += size
	}
	if rest := s[end:]; !(first && strings.HasPrefix(strings.TrimLeft(rest, "."), ",")) { // a weekday ends with a comma
		w.word(s[:end])
	}
	return s[end:]
}

func (w *words) word(s string) {
	if offset, known := zones[strings.ToUpper(s)]; known && w.timed && !w.zoned {
		w.offset = offset
		return
	}
	if lower := strings.ToLower(s); lower == "am" || lower == "pm" {
		w.half = lower
		return
	}
	if n := monthOf(s); n > 0 {
		w.month = n // the last of two: "mar" may have been a Tuesday
		return
	}
	w.strange++
}

func isClock(s string) bool {
	_, n := digits(s, 2)
	return n < len(s) && s[n] == ':' || ampm(s[n:]) != ""
}

func (w *words) complete() bool {
	return len(w.numbers) >= 3 || w.month > 0 && len(w.numbers) >= 2
}

// assign gives the numbers of a date their meaning; a zone's lost sign may have left one more.
func (w *words) assign() bool {
	n, year := w.numbers, -1
	for i := range n {
		if year < 0 && (w.widths[i] == 4 || n[i] > 31) {
			year = i
		}
	}
	switch {
	case w.month > 0 && len(n) >= 2 && year == 0:
		w.year, w.day = n[0], n[1]
	case w.month > 0 && len(n) >= 2:
		w.day, w.year = n[0], n[1]
		year = 1
	case w.month < 0 && len(n) >= 3 && year == 0:
		w.year, w.month, w.day = n[0], n[1], n[2]
	case w.month < 0 && len(n) >= 3 && year != 1:
		w.day, w.month, w.year = n[0], n[1], n[2]
		if w.month > 12 || w.slashes && w.twelve && w.day <= 12 { // 1/2/2006 3:04 PM is American, 1/2/2006 15:04 is not
			w.day, w.month = w.month, w.day
		}
		year = 2
	default:
		return false
	}
	if w.widths[year] <= 2 {
		w.year = century(w.year)
	}
	return true
}

// withoutComments drops what stands in parentheses (RFC 822, 3.4.3), which may nest and be escaped.
func withoutComments(s string) string {
	if strings.IndexByte(s, '(') < 0 {
		return s
	}
	var out strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && depth > 0:
			i++
		case c == '(':
			depth++
			out.WriteByte(' ')
		case c == ')' && depth > 0:
			depth--
		case depth == 0:
			out.WriteByte(c)
		}
	}
	return out.String()
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

const maxMonth = 8 // letters of the longest name of a month

// monthOf gives the number of a month by its name in one of the languages that feeds write dates in, 0 if it is none.
func monthOf(word string) int {
	if len(word) >= 3 {
		if i := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:3])); i >= 0 && i%3 == 0 && isLetter(word[2]) {
			return i/3 + 1
		}
	}
	table := months()
	w := []rune(strings.ToLower(word))
	for n := min(len(w), maxMonth); n >= 3; n-- { // "Sept", "января", "syyskuuta"
		if month := table[string(w[:n])]; month > 0 {
			return month
		}
	}
	return 0
}

// months has the names that do not begin like the English ones, by a beginning that is unique.
var months = sync.OnceValue(func() map[string]int {
	table := map[string]int{}
	for _, line := range []string{
		"jän - mär - mai - - - - okt - dez",                                    // German
		"janv févr mars avr mai juin juil août sept octo nove déc",             // French
		"- fevr - - - - juil aou - - - -",                                      // French, unaccented
		"ene - - abr may - - ago set - - dic",                                  // Spanish
		"gen - - apr mag giu lug ago set ott nov dic",                          // Italian
		"- fev - abr mai - - ago set out nov dez",                              // Portuguese
		"- - maa - mei - - - - okt - -",                                        // Dutch
		"- - mrt - maj - - - - okt - -",                                        // Dutch, Danish, Swedish
		"sty lut - kwi maj cze lip sie wrz paź lis gru",                        // Polish
		"янв фев мар апр май июн июл авг сен окт ноя дек",                      // Russian
		"- - - - мая - - - - - - -",                                            // its genitive
		"січ лют бер кві тра чер лип сер вер жов лис гру",                      // Ukrainian
		"ιαν φεβ μαρ απρ μαι ιουν ιουλ αυγ σεπ οκτ νοε δεκ",                    // Greek
		"- - μάρ - μάι ιούν ιούλ αύγ - - νοέ -",                                // with accents
		"- febr már ápr máj jún júl aug szept okt nov dec",                     // Hungarian
		"oca şub mar nis may haz tem ağu eyl eki kas ara",                      // Turkish
		"led úno bře dub kvě čer červenec srp zář říj lis pro",                 // Czech
		"ian - - - mai iun iul - - - noi -",                                    // Romanian
		"tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu", // Finnish
		"- - - - - - - - - - - des",                                            // Norwegian
	} {
		for i, name := range strings.Fields(line) {
			if _, taken := table[name]; !taken && name != "-" {
				table[name] = i + 1
			}
		}
	}
	table["μαΐ"], table["μαϊ"] = 5, 5
	return table
})
