package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells a person what takes long: a line that rewrites itself on a
// terminal, else one line when a stage starts and one when it ends. Safe for
// concurrent use.
type progress struct {
	w   io.Writer
	tty bool

	mu    sync.Mutex // guards the rest
	stage string
	last  time.Time
	count int
	total int
	open  bool // a rewriting line is on the screen
}

// progress returns where a command reports; --quiet reports nowhere.
func (a *app) progress() *progress {
	if a.quiet {
		return &progress{w: io.Discard}
	}
	return &progress{w: a.err, tty: isTerminal(a.err)}
}

const redrawEvery = 80 * time.Millisecond

// update reports a stage; stages end when another begins, or with done.
func (p *progress) update(stage string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.stage {
		p.finish()
		p.stage = stage
		if !p.tty {
			fmt.Fprintf(p.w, "%s …\n", stage)
		}
	}
	p.count, p.total = done, total
	if now := time.Now(); p.tty && now.Sub(p.last) >= redrawEvery {
		p.last, p.open = now, true
		fmt.Fprintf(p.w, "\r\x1b[K%s %s", stage, p.amount())
	}
}

func (p *progress) amount() string {
	if p.total > 0 {
		return fmt.Sprintf("%d of %d", p.count, p.total)
	}
	return fmt.Sprint(p.count)
}

// finish closes the running stage; p.mu is held.
func (p *progress) finish() {
	if p.stage == "" {
		return
	}
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	if !p.tty {
		fmt.Fprintf(p.w, "%s: %s\n", p.stage, p.amount())
	}
	p.stage, p.open = "", false
}

// done ends the last stage, and takes a rewriting line off the screen.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}
