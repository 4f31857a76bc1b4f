package tools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// A server that runs for months must not remember every session.
func TestShownMemoryIsBounded(t *testing.T) {
	m := newShownMemory()
	m.add("first", []Claim{{ID: "a", Text: "x"}})
	for i := range maxShownSessions - 1 {
		m.add(fmt.Sprint("session ", i), []Claim{{ID: "b", Text: "y"}})
	}
	m.add("first", []Claim{{ID: "c", Text: "z"}}) // it was shown something lately
	m.add("one more", []Claim{{ID: "d", Text: "w"}})
	if len(m.get("first")) != 2 || len(m.get("session 0")) != 0 || len(m.sessions) != maxShownSessions || len(m.order) != maxShownSessions {
		t.Errorf("first %v, the oldest %v, %d sessions", m.get("first"), m.get("session 0"), len(m.sessions))
	}
	for i := range 2 * maxShown {
		m.add("busy", []Claim{{ID: fmt.Sprint(i), Text: "t"}})
	}
	if n := len(m.get("busy")); n != maxShown {
		t.Errorf("%d of one session", n)
	}
}

func TestLocks(t *testing.T) {
	var l locks
	var inside, wrong atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			release, err := l.take(context.Background(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			if inside.Add(1) > 1 {
				wrong.Add(1)
			}
			inside.Add(-1)
			release()
		})
	}
	wg.Wait()
	if wrong.Load() > 0 || len(l.held) != 0 {
		t.Errorf("%d at once, %d locks left", wrong.Load(), len(l.held))
	}
	release, err := l.take(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := l.take(context.Background(), "b"); err != nil { // another owner does not wait
		t.Error(err)
	} else {
		other()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if len(l.held) != 0 {
		t.Errorf("%d locks left", len(l.held))
	}
}
