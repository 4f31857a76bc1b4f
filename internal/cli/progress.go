package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress shows the progress of long work. On a terminal it rewrites one line and removes
// it at the end. Elsewhere it prints a line when a stage starts and one when it ends. A
// stage without work is not shown. A Progress is safe for concurrent use.
type Progress struct {
	w   io.Writer
	tty bool
	now func() time.Time

	mu     sync.Mutex // guards the fields below
	stages []*stage   // since the last call of Done, in the order of their start
	last   *stage     // the one on the screen
	drawn  time.Time
}

type stage struct {
	name         string
	count, total int
	begun, ended bool // the line was printed
}

// Progress returns a Progress on standard error. With --quiet it shows nothing.
func (a *App) Progress() *Progress {
	p := &Progress{w: a.Err, tty: IsTerminal(a.Err), now: time.Now}
	if a.Quiet {
		p.w, p.tty = io.Discard, false
	}
	return p
}

// redrawEvery is the least time between two updates of the line on a terminal.
const redrawEvery = 80 * time.Millisecond

// Update sets the progress of a stage. A total of 0 means unknown.
func (p *Progress) Update(name string, done, total int) {
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

func (p *Progress) stage(name string) *stage {
	for _, s := range p.stages {
		if s.name == name {
			return s
		}
	}
	s := &stage{name: name}
	p.stages = append(p.stages, s)
	return s
}

// draw rewrites the line, at most once in redrawEvery for the same stage.
func (p *Progress) draw(s *stage) {
	now := p.now()
	if p.last == s && now.Sub(p.drawn) < redrawEvery {
		return
	}
	p.last, p.drawn = s, now
	fmt.Fprintf(p.w, "\r\x1b[K%s %s", s.name, s.amount())
}

func (p *Progress) end(s *stage) {
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

// Done ends the stages and removes the line from the screen. Later updates start new stages.
func (p *Progress) Done() {
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
