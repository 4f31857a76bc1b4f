package tools

import (
	"context"
	"sync"
)

// locks let one call at a time learn for an owner: two that say the same at once
// would each find the other missing.
type locks struct {
	mu   sync.Mutex // guards held
	held map[string]*lock
}

type lock struct {
	token chan struct{} // in it while nobody has the lock
	users int
}

// take waits for an owner's lock, or for ctx.
func (l *locks) take(ctx context.Context, owner string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[owner]
	if k == nil {
		k = &lock{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		l.held[owner] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, owner)
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
