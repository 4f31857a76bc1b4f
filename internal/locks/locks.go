// Package locks lets one call at a time work on something that has a name.
package locks

import (
	"context"
	"sync"
)

// Locks are as many locks as there are names in use. The zero value is ready; it is
// safe for concurrent use.
type Locks struct {
	mu   sync.Mutex // guards held
	held map[string]*lock
}

type lock struct {
	token chan struct{} // in it while nobody has the lock
	users int
}

// Take waits until nobody else has the lock of a name, or for ctx, whose error it
// returns. The caller calls release, once.
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
