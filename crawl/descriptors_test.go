package crawl

import (
	"math"
	"testing"
)

func TestWorkersWithinTheLimitOfOpenFiles(t *testing.T) {
	for limit, want := range map[uint64]int{0: 1, 20: 1, 40: 4, 256: 58, 1024: 250, 1048: 256, 1 << 20: 256, math.MaxUint64: 256} {
		if got := workersWithin(limit, 256); got != want {
			t.Errorf("limit %d: %d workers, want %d", limit, got, want)
		}
	}
}
