package console

import "sync"

// background is what goes on behind the pages until the console is closed. The zero
// value is ready.
type background struct {
	mu     sync.Mutex
	closed bool
	all    sync.WaitGroup
}

// Go runs f on a goroutine of its own, unless the console is closed.
func (b *background) Go(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(f)
	}
}

// close waits for what runs, and lets nothing begin.
func (b *background) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
