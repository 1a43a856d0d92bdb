package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// text gives a string for storing: "" is NULL, and bytes that are not UTF-8 become U+FFFD one by one, as encoding/json does
// it, so that a result merged at once and one that went through a snapshot give the same rows.
func text(s string) driver.Value {
	if s == "" {
		return nil
	}
	return valid(s)
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// number gives an integer for storing: 0 is NULL.
func number[T int | int64](n T) driver.Value {
	if n == 0 {
		return nil
	}
	return int64(n)
}

// stamp gives a time for storing, cut to the second: the zero time and years that RFC 3339 has no four digits for are NULL.
func stamp(t time.Time) driver.Value {
	t = t.UTC()
	if y := t.Year(); t.IsZero() || y < 1 || y > 9999 {
		return nil
	}
	return t.Format(time.RFC3339)
}

// stampUp is stamp, rounded up: for what must not come too early.
func stampUp(t time.Time) driver.Value { return stamp(roundUp(t)) }

func roundUp(t time.Time) time.Time {
	if t.Nanosecond() == 0 {
		return t
	}
	return t.Truncate(time.Second).Add(time.Second)
}

// list gives a JSON array for storing: an empty one is NULL.
func list[T any](values []T) string {
	if len(values) == 0 {
		return ""
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic("store: marshal " + err.Error()) // strings and numbers only: cannot fail
	}
	return string(b)
}

// truth gives a bool for storing.
func truth(b bool) driver.Value {
	if b {
		return int64(1)
	}
	return int64(0)
}

// idList gives ids as a JSON array, for json_each.
func idList(ids []int64) string {
	b := make([]byte, 0, 8*len(ids)+2)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// Count is a number of things in words: "1 feed", "2 feeds", "2 categories".
func Count(n int, noun string) string {
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return "1 " + noun
	case isY:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
