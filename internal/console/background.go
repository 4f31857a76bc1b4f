package console

import (
	"context"
	"log/slog"
	"sync"
	"time"

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

// behind remembers what takes longer to find out than a page may take. It is found out
// behind the page, which waits a moment for it and else shows what was found the last
// time, and asks for itself again. The zero value is ready; it is safe for concurrent
// use.
type behind[K comparable, V any] struct {
	mu sync.Mutex
	by map[K]*finding[V]
}

// finding is what was found last, and who is at it again.
type finding[V any] struct {
	last    *V            // nil before the first time; not changed once it is there
	at      time.Time     // when it was begun to be found
	of      int           // what changes was then
	changes int           // that forget was told of
	now     chan struct{} // closed when what runs is done; nil when nothing runs
	next    chan struct{} // closed when what runs after that is done; nil when nothing waits
}

const (
	// defaultPatience is how long a page waits for what is found out anew. It waits half as
	// long again for what is not known at all, and is there in less than 50 ms all the same.
	defaultPatience = 20 * time.Millisecond
	// mostFindings bounds what is remembered: beyond it, all is forgotten.
	mostFindings = 64
)

// forget has something found out anew after a change that good can't see. What was found
// stays, for who can't wait.
func (b *behind[K, V]) forget(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.by[key]; f != nil {
		f.changes++
	}
}

// stands reports whether what was found last is good enough.
func (f *finding[V]) stands(good func(*V, time.Time) bool) bool {
	return f.last != nil && f.of == f.changes && good(f.last, f.at)
}

// never is for what has to be found out each time.
func never[V any](*V, time.Time) bool { return false }

// newerThan is good enough for what only has to be about right.
func newerThan[V any](c *Console, lasts time.Duration) func(*V, time.Time) bool {
	return func(_ *V, at time.Time) bool { return c.o.Now().Sub(at) <= lasts }
}

// get returns what was found last, if that is good; else what is found now, if that
// comes within a moment. What find returns is nil when there is nothing better than
// before. A finding that is under way may have passed what was just written, so that
// another one follows it, unless it turns out to be good.
func (b *behind[K, V]) get(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V) *V {
	return b.within(v, key, good, find, v.con.o.Patience)
}

// within is get for who waits longer than a moment.
func (b *behind[K, V]) within(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V, wait time.Duration) *V {
	b.mu.Lock()
	f := b.by[key]
	if f == nil {
		if b.by == nil || len(b.by) >= mostFindings {
			b.by = map[K]*finding[V]{}
		}
		f = &finding[V]{}
		b.by[key] = f
	}
	last := f.last
	if f.stands(good) {
		b.mu.Unlock()
		return last
	}
	done := b.begin(v.con, f, good, find)
	b.mu.Unlock()
	if last == nil {
		wait = max(wait, v.con.o.Patience*3/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		v.again = true
	case <-v.ctx().Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.last
}

// begin has something found out after now, and returns what is closed then. It is called
// with the lock held.
func (b *behind[K, V]) begin(c *Console, f *finding[V], good func(*V, time.Time) bool, find func(context.Context, *V) *V) <-chan struct{} {
	if f.next != nil {
		return f.next
	}
	done := make(chan struct{})
	before := f.now
	if before == nil {
		f.now = done
	} else {
		f.next = done
	}
	c.running.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		b.mu.Lock()
		f.now, f.next = done, nil
		last, of, enough := f.last, f.changes, before != nil && f.stands(good)
		b.mu.Unlock()
		at := c.o.Now()
		var found *V
		if !enough {
			found = find(c.stop, last)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if found != nil {
			f.last, f.at, f.of = found, at, of
		}
		if f.now == done {
			f.now = nil
		}
	})
	return done
}
