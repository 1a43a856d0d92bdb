package cmd

import (
	"sync"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"crawl/crawl"
)

// mostBars is how many categories are shown at the same time.
const mostBars = 12

// progress shows a bar for each category under way, on a terminal. A nil one shows nothing.
type progress struct {
	app       *app
	container *mpb.Progress

	mu   sync.Mutex
	bars map[string]*mpb.Bar
}

// newProgress is nil where standard error is no terminal that can draw, where only errors are wanted, or where the log of a verbose
// run goes there.
func newProgress(a *app) *progress {
	if !a.canDraw(a.stderr) || a.quiet || a.verbose {
		return nil
	}
	p := &progress{
		app:       a,
		container: mpb.New(mpb.WithOutput(a.stderr), mpb.WithWidth(60)),
		bars:      map[string]*mpb.Bar{},
	}
	a.logTo.to(p.container)
	return p
}

// callback is what a run calls, nil for a nil progress.
func (p *progress) callback() func(crawl.Progress) {
	if p == nil {
		return nil
	}
	return p.show
}

func (p *progress) show(c crawl.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bar := p.bars[c.Category]
	if bar == nil {
		if c.Closed || len(p.bars) >= mostBars {
			return
		}
		bar = p.newBar(c)
		p.bars[c.Category] = bar
	}
	bar.SetTotal(int64(c.Total), false)
	bar.SetCurrent(int64(c.Done))
	if c.Closed {
		bar.Abort(true)
		delete(p.bars, c.Category)
	}
}

// newBar is a bar in plain characters, without colour.
func (p *progress) newBar(c crawl.Progress) *mpb.Bar {
	name := runewidth.FillRight(runewidth.Truncate(clean(c.Category), 24, "…"), 24)
	return p.container.New(0, mpb.BarStyle(), // 0: it never completes by itself
		mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.CountersNoUnit("%d of %d")))
}

// end removes what is left of the bars.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	for _, bar := range p.bars {
		bar.Abort(true)
	}
	p.mu.Unlock()
	p.container.Wait()
	p.app.logTo.to(p.app.stderr)
}
