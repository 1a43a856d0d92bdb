package cmd

import (
	"encoding/json"
	"testing"
	"time"
)

// Half a minute before the start minute is the last hour, the start minute itself the next.
func TestTheStartMinuteBeginsAnotherHour(t *testing.T) {
	t.Parallel()
	s := healthySite(t, 2)
	w := newWorld(t, s)
	w.subscribe()
	for _, c := range []struct {
		at   time.Time
		hour string
	}{
		{runAt(0).Add(-35 * time.Second), hourOf(-1)},
		{runAt(0).Add(-5 * time.Second), hourOf(0)},
		{runAt(1).Add(-35 * time.Second), hourOf(0)},
		{runAt(1).Add(-5 * time.Second), hourOf(1)},
	} {
		e := w.run(c.at, "run", "--json").want(0)
		var got struct{ Hour, Outcome string }
		if err := json.Unmarshal([]byte(e.stdout), &got); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
		if got.Hour != c.hour {
			t.Fatalf("at %v the hour is %s, not %s", c.at, got.Hour, c.hour)
		}
	}
	w.converged(halfAt(1))
}
