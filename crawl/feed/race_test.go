//go:build race

package feed

const raceEnabled = true // the race detector costs more time and memory than a bomb may
