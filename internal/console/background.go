package console

import (
	"log/slog"
	"sync"

	panics "github.com/kenlayer/ken/internal/caught"
)

// background is what goes on behind the pages until the console is closed. The zero
// value is ready.
type background struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// Go runs f on a goroutine of its own, unless the console is closed. A panic ends f alone.
func (b *background) Go(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(func() {
			if err := panics.Run(func() error { f(); return nil }); err != nil {
				slog.Default().Error("work behind the console's pages failed", "cause", err, "stack", panics.Stack(err))
			}
		})
	}
}

// close waits for what runs, and lets nothing begin.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
