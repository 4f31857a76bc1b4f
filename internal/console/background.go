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

// Go runs f in a goroutine, unless the console is closed. If f panics, only f ends.
func (b *background) Go(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.all.Go(func() {
			if err := panics.Run(func() error { f(); return nil }); err != nil {
				slog.Default().Error("background work of the console failed", "cause", err, "stack", panics.Stack(err))
			}
		})
	}
}

// close waits for the running functions, and starts no more.
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
	value     *V            // nil before the first computation; not modified afterwards
	startedAt time.Time     // start of the computation of value
	version   int           // changes at that time
	changes   int           // number of calls of invalidate
	running   chan struct{} // closed when the running computation ends; nil if none runs
	queued    chan struct{} // closed when the next computation ends; nil if none is queued
}

const (
	// defaultPatience is how long a page waits for a new value. If there is no previous
	// value it waits half as long again. A page is still served in less than 50 ms.
	defaultPatience = 20 * time.Millisecond
	// maxCacheEntries is the largest number of entries. When it is reached, all are removed.
	maxCacheEntries = 64
)

// invalidate makes the next get compute a new value, for a change that its good function
// can't detect. Until then the previous value stays available.
func (b *backgroundCache[K, V]) invalidate(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.by[key]; f != nil {
		f.changes++
	}
}

// fresh reports whether the cached value is good enough.
func (f *cacheEntry[V]) fresh(good func(*V, time.Time) bool) bool {
	return f.value != nil && f.version == f.changes && good(f.value, f.startedAt)
}

// alwaysStale accepts no cached value, so that it is computed each time.
func alwaysStale[V any](*V, time.Time) bool { return false }

// newerThan accepts a cached value until it reaches the given age.
func newerThan[V any](c *Console, lasts time.Duration) func(*V, time.Time) bool {
	return func(_ *V, at time.Time) bool { return c.opts.Now().Sub(at) <= lasts }
}

// get returns the cached value if good accepts it. Otherwise it starts find and waits a
// moment for the result; if that takes longer, it returns the previous value. If find
// returns nil, the previous value stays. A computation that runs already may have missed a
// recent write, so another one is queued after it, unless good accepts its result.
func (b *backgroundCache[K, V]) get(v *visit, key K, good func(last *V, at time.Time) bool, find func(ctx context.Context, before *V) *V) *V {
	return b.getWithin(v, key, good, find, v.con.opts.Patience)
}

// getWithin is get with a given wait.
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

// start starts a computation and returns a channel that is closed when it ends. The caller
// holds the lock.
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
