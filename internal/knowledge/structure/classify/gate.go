package classify

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kenlayer/ken/embed"
)

// Pauses after a model that did not answer. They double, so that a model that is
// down for a night is asked some dozens of times, however many jobs wait.
const (
	firstPause = 5 * time.Second
	lastPause  = 10 * time.Minute
)

// gate keeps a pass from asking a model that fails, for a while. The zero value is
// open.
type gate struct {
	mu    sync.Mutex // guards the rest
	until time.Time
	pause time.Duration
}

// enter returns when the model may be asked, or ctx ends.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		d := time.Until(g.until)
		g.mu.Unlock()
		if d <= 0 {
			return ctx.Err()
		}
		if err := rest(ctx, d); err != nil {
			return err
		}
	}
}

// leave tells what came of it.
func (g *gate) leave(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.pause, g.until = 0, time.Time{}
		return
	}
	g.pause = min(max(2*g.pause, firstPause), lastPause)
	wait := g.pause
	var throttled *embed.Throttled
	if errors.As(err, &throttled) {
		wait = max(wait, throttled.After)
	}
	g.until = time.Now().Add(wait)
}

// rest waits, unless ctx ends before.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
