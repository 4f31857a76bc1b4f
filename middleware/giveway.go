package middleware

import (
	"context"
	"sync"
	"time"
)

// How background work gives way: for how long after a turn it waits for another one, and
// how long it waits at most before each step. A step is a call of the store, some
// milliseconds; so where turns never pause, the queue still gets shorter by some twenty
// steps a second, a session takes about that many, and there is never more than one step
// beside a turn.
const (
	quietAfter = 5 * time.Millisecond
	waitAtMost = 50 * time.Millisecond
)

// turns tells the background whether one is in progress. The zero value is ready.
type turns struct {
	mu   sync.Mutex // guards the rest
	now  int
	last time.Time     // when the last one ended
	none chan struct{} // closed when none is left; nil while nobody waits
}

func (s *turns) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now++
}

func (s *turns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.last = time.Now()
	if s.now == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// busy returns what is closed when no turn is left, or else for how long to wait still.
func (s *turns) busy() (left <-chan struct{}, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == 0 {
		return nil, quietAfter - time.Since(s.last)
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	return s.none, waitAtMost
}

// giveWay returns when there has been no turn for a moment, after waitAtMost, or at ctx's
// end. It must not be called with something that a turn may wait for.
func (s *turns) giveWay(ctx context.Context) {
	left, wait := s.busy()
	if wait <= 0 {
		return
	}
	late := time.NewTimer(waitAtMost)
	defer late.Stop()
	for wait > 0 {
		quiet := time.NewTimer(wait)
		select {
		case <-left:
		case <-quiet.C:
		case <-late.C:
			wait = 0
		case <-ctx.Done():
			wait = 0
		}
		quiet.Stop()
		if wait > 0 {
			left, wait = s.busy()
		}
	}
}

// behind marks the context of work that nobody waits for: its calls of a store give way to
// turns of this process. Turns of other processes are not known.
type behind struct{}

func inBackground(ctx context.Context) context.Context { return context.WithValue(ctx, behind{}, true) }

// giveWay has background work give way; work that somebody waits for does not.
func (l *Layer) giveWay(ctx context.Context) {
	if ctx.Value(behind{}) != nil {
		l.turning.giveWay(ctx)
	}
}
