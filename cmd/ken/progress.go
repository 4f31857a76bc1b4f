package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells a person what takes long: on a terminal one line that rewrites
// itself and goes away, else one line when a stage starts and one when it ends.
// A stage with nothing to do is not mentioned. Safe for concurrent use.
type progress struct {
	w   io.Writer
	tty bool
	now func() time.Time

	mu     sync.Mutex // guards the rest
	stages []*stage   // since the last done, in the order of their start
	last   *stage     // on the screen
	drawn  time.Time
}

type stage struct {
	name         string
	count, total int
	begun, ended bool // told so
}

// progress returns where a command reports; --quiet reports nowhere.
func (a *app) progress() *progress {
	p := &progress{w: a.err, tty: isTerminal(a.err), now: time.Now}
	if a.quiet {
		p.w, p.tty = io.Discard, false
	}
	return p
}

const redrawEvery = 80 * time.Millisecond

// update reports how far a stage is; a total of 0 is unknown.
func (p *progress) update(name string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stage(name)
	s.count, s.total = done, total
	complete := total > 0 && done >= total
	if !s.begun {
		if complete || done == 0 && total == 0 {
			return
		}
		s.begun = true
		if !p.tty {
			fmt.Fprintf(p.w, "%s …\n", name)
		}
	}
	switch {
	case p.tty:
		p.draw(s)
	case complete:
		p.end(s)
	}
}

func (p *progress) stage(name string) *stage {
	for _, s := range p.stages {
		if s.name == name {
			return s
		}
	}
	s := &stage{name: name}
	p.stages = append(p.stages, s)
	return s
}

// draw rewrites the line, not too often.
func (p *progress) draw(s *stage) {
	now := p.now()
	if p.last == s && now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.last, p.drawn = s, now
	fmt.Fprintf(p.w, "\r\x1b[K%s %s", s.name, s.amount())
}

func (p *progress) end(s *stage) {
	if !s.ended {
		s.ended = true
		fmt.Fprintf(p.w, "%s: %s\n", s.name, s.amount())
	}
}

func (s *stage) amount() string {
	if s.total > 0 {
		return fmt.Sprintf("%d of %d", s.count, s.total)
	}
	return fmt.Sprint(s.count)
}

// done ends what is still running, and takes the line off the screen. Work that
// goes on is reported anew.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	for _, s := range p.stages {
		if s.begun && !p.tty {
			p.end(s)
		}
	}
	p.stages, p.last = nil, nil
}
