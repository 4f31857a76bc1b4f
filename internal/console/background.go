package console

import (
	"context"
	"log/slog"
	"sync"
	"time"

	panics "github.com/kenlayer/ken/internal/caught"
)

// background runs work outside of requests until the console is closed. The zero value is
// ready to use.
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

// backgroundCache caches values that take longer to compute than a page may wait. It
// computes them in the background. A page waits for a moment, then shows the previous value
// and reloads itself. The zero value is ready to use; it is safe for concurrent use.
type backgroundCache[K comparable, V any] struct {
	mu sync.Mutex
	by map[K]*cacheEntry[V]
}

// cacheEntry is one cached value and the state of its computation.
type cacheEntry[V any] struct {
	value     *V            // nil before the first time; not changed once it is there
	startedAt time.Time     // when it was begun to be found
	version   int           // what changes was then
	changes   int           // that forget was told of
	running   chan struct{} // closed when what runs is done; nil when nothing runs
	queued    chan struct{} // closed when what runs after that is done; nil when nothing waits
}

const (
	// defaultPatience is how long a page waits for what is found out anew. It waits half as
	// long again for what is not known at all, and is there in less than 50 ms all the same.
	defaultPatience = 20 * time.Millisecond
	// mostFindings bounds what is remembered: beyond it, all is forgotten.
	maxCacheEntries = 64
)

// invalidate has something found out anew after a change that good can't see. What was found
// stays, for who can't wait.
func (b *backgroundCache[K, V]) invalidate(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.by[key]; f != nil {
		f.changes++
	}
}

// fresh reports whether what was found last is good enough.
func (f *cacheEntry[V]) fresh(good func(*V, time.Time) bool) bool {
	return f.value != nil && f.version == f.changes && good(f.value, f.startedAt)
}

// alwaysStale accepts no cached value, so that it is computed each time.
func alwaysStale[V any](*V, time.Time) bool { return false }

// newerThan accepts a cached value until it reaches the given age.
func newerThan[V any](c *Console, lasts time.Duration) func(*V, time.Time) bool {
	return func(_ *V, at time.Time) bool { return c.opts.Now().Sub(at) <= lasts }
}

// get returns what was found last, if that is good; else what is found now, if that
// comes within a moment. What find returns is nil when there is nothing better than
// before. A finding that is under way may have passed what was just written, so that
// another one follows it, unless it turns out to be good.
func (b *backgroundCache[K, V]) get(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V) *V {
	return b.getWithin(v, key, good, find, v.con.opts.Patience)
}

// getWithin is get for who waits longer than a moment.
func (b *backgroundCache[K, V]) getWithin(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V, wait time.Duration) *V {
	b.mu.Lock()
	f := b.by[key]
	if f == nil {
		if b.by == nil || len(b.by) >= maxCacheEntries {
			b.by = map[K]*cacheEntry[V]{}
		}
		f = &cacheEntry[V]{}
		b.by[key] = f
	}
	last := f.value
	if f.fresh(good) {
		b.mu.Unlock()
		return last
	}
	done := b.start(v.con, f, good, find)
	b.mu.Unlock()
	if last == nil {
		wait = max(wait, v.con.opts.Patience*3/2)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		v.refresh = true
	case <-v.ctx().Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return f.value
}

// start has something found out after now, and returns what is closed then. It is called
// with the lock held.
func (b *backgroundCache[K, V]) start(c *Console, f *cacheEntry[V], good func(*V, time.Time) bool, find func(context.Context, *V) *V) <-chan struct{} {
	if f.queued != nil {
		return f.queued
	}
	done := make(chan struct{})
	before := f.running
	if before == nil {
		f.running = done
	} else {
		f.queued = done
	}
	c.background.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		b.mu.Lock()
		f.running, f.queued = done, nil
		last, of, enough := f.value, f.changes, before != nil && f.fresh(good)
		b.mu.Unlock()
		at := c.opts.Now()
		var found *V
		if !enough {
			found = find(c.stop, last)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if found != nil {
			f.value, f.startedAt, f.version = found, at, of
		}
		if f.running == done {
			f.running = nil
		}
	})
	return done
}
