package crawl

import "testing"

// TestWorkersGrow: more workers only where those that there are wait for the network, never more than the setting says.
func TestWorkersGrow(t *testing.T) {
	for _, tt := range []struct {
		name                                string
		workers, most, done, reading, cores int
		want                                int
	}{
		{"slow network", 64, 256, 3, 1, 2, 128},
		{"nothing comes", 64, 256, 0, 0, 2, 128},
		{"quick network", 64, 256, 64, 1, 2, 64},
		{"no core is free", 64, 256, 3, 2, 2, 64},
		{"the setting", 128, 200, 3, 1, 2, 200},
		{"few", 4, 4, 0, 0, 2, 4},
	} {
		p := &pool{s: &session{}, workers: tt.workers, done: tt.done, parsing: make(chan struct{}, tt.cores)}
		p.s.cfg.Settings.Workers = tt.most
		for range tt.reading {
			p.parsing <- struct{}{}
		}
		if p.grow(); p.workers != tt.want || p.done != 0 {
			t.Errorf("%s: %d workers, want %d; done %d", tt.name, p.workers, tt.want, p.done)
		}
	}
}
