package store

import "slices"

// maxNearest bounds the names that are compared, and maxNearestLength their length in bytes.
const (
	maxNearest       = 20_000
	maxNearestLength = 300
)

// Nearest returns the name that is least edits away from what was asked for; "" if none is near: more than a third of it
// would have to change.
func Nearest(asked string, names []string) string {
	best, least := "", len(asked)/3+1
	for i, name := range names {
		if i == maxNearest {
			break
		}
		if d := distance(asked, name, least); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is the number of edits between two strings in bytes, or limit if it is not less than that. An edit is a byte more, less or
// other, or two neighbours that changed places (optimal string alignment).
func distance(a, b string, limit int) int {
	if len(a) > maxNearestLength || len(b) > maxNearestLength || max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		current[0] = i + 1
		least := current[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			current[j+1] = min(previous[j]+cost, previous[j+1]+1, current[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				current[j+1] = min(current[j+1], before[j-1]+1)
			}
			least = min(least, current[j+1])
		}
		if least >= limit && slices.Min(previous) >= limit {
			return limit
		}
		before, previous, current = previous, current, before
	}
	return min(previous[len(b)], limit)
}
