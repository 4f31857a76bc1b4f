package bolt

import (
	"fmt"
	"sync"
	"time"

	"github.com/kenlayer/ken"
)

// A disk can hang without an error: a network volume whose server is gone, a device that
// resets. A commit that has not ended after stallTold is a fault of the store, and after
// stallEnds the writes that wait for it end. What hangs may still be written; a write with a
// name (see store.WithCommit) can be repeated and is done once.
const (
	stallTold = 2 * time.Second
	stallEnds = 10 * time.Second
)

// stalls notices commits that hang. It is safe for concurrent use.
type stalls struct {
	mu    sync.Mutex    // guards the rest
	ended chan struct{} // closed while a commit has hung for stallEnds
}

// over is closed once waiting for the disk makes no sense.
func (x *stalls) over() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended == nil {
		x.ended = make(chan struct{})
	}
	return x.ended
}

// set says whether waiting makes sense.
func (x *stalls) set(over bool) {
	ended := x.over()
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case <-ended:
		if !over {
			x.ended = make(chan struct{})
		}
	default:
		if over {
			close(x.ended)
		}
	}
}

var errStalled = &ken.Error{Code: ken.CodeUnavailable, Msg: fmt.Sprintf("the disk has not answered for %v; what was to be written may still be written", stallEnds),
	Try: "See whether the disk or its network is well. Writing goes on by itself when it answers."}

// committing watches a commit until the function that it returns is called.
func (s *Store) committing() (done func()) {
	begun := time.Now()
	var mu sync.Mutex
	over, late := false, false
	while := func(fn func()) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			if !over {
				fn()
			}
		}
	}
	told := time.AfterFunc(stallTold, while(func() {
		late = true
		s.wrote(fmt.Errorf("the disk has not answered since %s", begun.UTC().Format(time.TimeOnly)))
		s.o.Log.Error("the disk does not answer: turns go on, writes wait", "store", s.dir)
	}))
	ends := time.AfterFunc(stallEnds, while(func() { s.stalls.set(true) }))
	return func() {
		told.Stop()
		ends.Stop()
		mu.Lock()
		defer mu.Unlock()
		if over = true; late {
			s.stalls.set(false)
			s.wrote(nil)
			s.o.Log.Info("the disk answers again", "store", s.dir, "after", time.Since(begun).Round(time.Millisecond))
		}
	}
}
