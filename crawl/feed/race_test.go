//go:build race

package feed

const raceEnabled = true // the race detector costs ten times the time and memory
