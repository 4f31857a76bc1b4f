// Package locks provides locks by name.
package locks

import (
	"context"
	"sync"
)

// Locks is a set of named locks. The zero value is ready to use; it is safe for
// concurrent use.
type Locks struct {
	mu   sync.Mutex // guards held
	held map[string]*lock
}

type lock struct {
	token chan struct{} // contains a token while nobody holds the lock
	users int
}

// Take locks a name. It waits until the lock is free or ctx ends, and then returns
// ctx's error. The caller must call release exactly once.
func (l *Locks) Take(ctx context.Context, name string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[name]
	if k == nil {
		k = &lock{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case <-k.token:
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
	return func() {
		k.token <- struct{}{}
		leave()
	}, nil
}
