package middleware

import (
	"sync"

	"github.com/kenlayer/ken/store"
)

// latecomers keeps, for sessions whose last turn went on without its vector leg,
// where the leg's hits will arrive. Sessions that never return are forgotten
// beyond maxConversations.
type latecomers struct {
	mu sync.Mutex // guards m
	m  map[string]<-chan store.Result
}

func (l *latecomers) keep(session string, ch <-chan store.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[string]<-chan store.Result{}
	}
	makeRoom(l.m, maxConversations)
	l.m[session] = ch
}

func (l *latecomers) take(session string) <-chan store.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.m[session]
	delete(l.m, session)
	return ch
}
