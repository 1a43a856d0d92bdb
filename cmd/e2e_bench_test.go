package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkRun is a whole run of the real program over a local server that shares its cores: start-up, 500 feeds of 30 items on 500
// hosts, snapshots and all.
func BenchmarkRun(b *testing.B) {
	const feeds, items = 500, 30
	for _, c := range []struct {
		name       string
		validators bool
		change     func(*siteFeed)
	}{
		{"cold", true, nil},
		{"not-modified", true, func(*siteFeed) {}},
		{"same-bytes", false, func(*siteFeed) {}},
		{"one-new-item-each", true, func(f *siteFeed) { f.publish(); f.items = f.items[:items] }},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newSite(b)
			for n := range feeds {
				s.add([]string{"News", "Science", "Art", "Work", "Play"}[n%5], items).validators = c.validators
			}
			var spent time.Duration
			hour := 0
			w := newWorld(b, s)
			w.subscribe()
			if c.change != nil {
				w.silent(runAt(0), "run")
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				if c.change == nil {
					w = newWorld(b, s)
					w.subscribe()
				} else {
					hour += 25 // past every interval that grows while nothing changes
					s.edit(func() {
						for _, f := range s.feeds {
							c.change(f)
						}
					})
				}
				s.cut()
				b.StartTimer()
				p := w.start(runAt(hour), "run")
				p.wait().want(0)
				spent += p.child.ProcessState.UserTime() + p.child.ProcessState.SystemTime()
				b.StopTimer()
				eachOnce(b, s.cut(), s.feeds)
				b.StartTimer()
			}
			b.ReportMetric(spent.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(feeds*b.N)/b.Elapsed().Seconds(), "feeds/s")
		})
	}
}

// BenchmarkWorkers is an hour in which 10,000 hosts answer 304, each as late as hosts far away do: lognormal, median 150 ms.
func BenchmarkWorkers(b *testing.B) {
	const feeds = 10_000
	s := newSite(b)
	random := rand.New(rand.NewPCG(1, 2))
	for n := range feeds {
		f := s.add(fmt.Sprint("Category ", n%20), 1)
		f.validators, f.delay = true, time.Duration(150*math.Exp(0.8*random.NormFloat64())*float64(time.Millisecond))
	}
	w := newWorld(b, s)
	w.subscribe()
	hour := 0
	w.with("CRAWL_WORKERS=1024").silent(runAt(hour), "run")
	for _, workers := range []int{32, 64, 128, 256, 512, 1024} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				hour += 2
				w.with(fmt.Sprint("CRAWL_WORKERS=", workers)).silent(runAt(hour), "run")
			}
		})
	}
}

// BenchmarkNothingToDo is a run whose hour is done.
func BenchmarkNothingToDo(b *testing.B) {
	s := newSite(b)
	for range 100 {
		s.add("News", 10)
	}
	w := newWorld(b, s)
	w.subscribe()
	w.silent(runAt(0), "run")
	for b.Loop() {
		w.silent(runAt(0).Add(time.Minute), "run")
	}
}
