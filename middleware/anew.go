package middleware

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

// begun is when conversations began that go on under the name of a session that was
// harvested before, without what was said in it: a program that names its session once
// and for all begins one at every start. Those beyond maxConversations are forgotten.
// The zero value is ready.
type begun struct {
	mu sync.Mutex // guards m
	m  map[start]time.Time
}

func (b *begun) get(key start) (at time.Time, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at, ok = b.m[key]
	return at, ok
}

func (b *begun) put(key start, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		b.m = map[start]time.Time{}
	}
	if _, known := b.m[key]; !known {
		makeRoom(b.m, maxConversations)
	}
	b.m[key] = at
}

// forget drops what is known of an owner's conversations.
func (b *begun) forget(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.m {
		if key.owner == owner {
			delete(b.m, key)
		}
	}
}

// beganAnew is when the turn's conversation began, if its session has a past that the
// conversation does not hold: what was kept of the session before then is news to it.
// It is zero for a conversation that holds its session's past, or has none. The journal
// is asked once for a conversation.
func (l *Layer) beganAnew(ctx context.Context, st *State) time.Time {
	t := &st.Turn
	said := spoken(t.Messages)
	if !l.cfg.Middleware.Knowledge || t.Session == "" || l.storeErr != nil || len(said) == 0 {
		return time.Time{}
	}
	key := startOf(t, said[0])
	at, known := l.begun.get(key)
	if known {
		return at
	}
	anew, err := l.lacksPast(ctx, t, said)
	if err != nil { // the digest is as for a conversation that holds everything; the next turn asks again
		return at
	}
	if anew {
		at = l.now()
	}
	if st.trial == nil && !t.Incognito {
		l.begun.put(key, at)
	}
	return at
}

// lacksPast reports whether something of the turn's session was harvested that is not
// in what is said in the conversation.
func (l *Layer) lacksPast(ctx context.Context, t *ken.Turn, said []*ken.Message) (bool, error) {
	j := l.Journal(t.Owner)
	info, err := j.Info(ctx, t.Session)
	switch {
	case errors.Is(err, ken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case info.Harvested.IsZero():
		return false, nil
	case len(said) == 1: // there is nothing before it
		return true, nil
	}
	tr, err := j.Read(ctx, t.Session)
	if err != nil || len(tr.Entries) == 0 { // swept: nobody knows
		return false, err
	}
	past := slices.DeleteFunc(tr.Entries, func(e session.Entry) bool { return e.At.After(info.Harvested) })
	return !has(past, said[0]), nil
}
