package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// patience is how long, and until when, to wait for another program's lock.
type patience struct {
	wait time.Duration
	stop func() bool
}

// busyWait bounds the wait for another program's write lock.
const busyWait = 30 * time.Second

func (o Options) patience() patience {
	p := patience{busyWait, o.Stop}
	if p.stop == nil {
		p.stop = func() bool { return false }
	}
	return p
}

// retry calls f until it is not busy. A context does not shorten SQLite's own wait, which is therefore short; between two
// tries it looks at the context and at stop.
func (p patience) retry(ctx context.Context, f func() error) error {
	begin := time.Now()
	for {
		err := f()
		if err == nil || !isBusy(err) {
			return err
		}
		if e := ctx.Err(); e != nil {
			return fmt.Errorf("%w: %w", err, e)
		}
		if p.stop() {
			return fmt.Errorf("stopped while waiting: %w", err)
		}
		if time.Since(begin) >= p.wait {
			return fmt.Errorf("waited %s: %w", p.wait, err)
		}
		time.Sleep(10*time.Millisecond + rand.N(50*time.Millisecond))
	}
}
