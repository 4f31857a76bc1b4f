package locks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLocks(t *testing.T) {
	var l Locks
	var inside, wrong atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			release, err := l.Take(context.Background(), "a")
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
	release, err := l.Take(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := l.Take(context.Background(), "b"); err != nil { // another name does not wait
		t.Error(err)
	} else {
		other()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := l.Take(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if len(l.held) != 0 {
		t.Errorf("%d locks left", len(l.held))
	}
}
