package harvest

import (
	"context"
	"errors"
	"sync"

	"github.com/kenlayer/ken"
)

// errHeld is why a harvest stopped for a Hold.
var errHeld = &ken.Error{Code: ken.CodeUnavailable, Msg: "something of the session is being erased", Try: "Harvest it again."}

// turn lets one harvest run at a time, and whoever holds it none.
type turn struct {
	token chan struct{} // in it while nobody has the turn

	mu    sync.Mutex              // guards the rest
	holds int                     // that wait or last
	held  chan struct{}           // closed while there are any
	stop  context.CancelCauseFunc // of the harvest that has the turn; nil for none
}

func newTurn() *turn {
	t := &turn{token: make(chan struct{}, 1), held: make(chan struct{})}
	t.token <- struct{}{}
	return t
}

// take runs a harvest in its turn, with a context that ends when somebody holds it.
// It never waits for a hold: whoever erases may itself wait, in another process, until
// no harvest of this one is under way.
func (t *turn) take(ctx context.Context, harvest func(context.Context) error) error {
	t.mu.Lock()
	held := t.held
	t.mu.Unlock()
	select {
	case <-t.token:
	case <-held:
		return errHeld
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { t.token <- struct{}{} }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if !t.begin(stop) {
		return errHeld
	}
	defer t.end()
	err := harvest(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errHeld) {
		return errHeld
	}
	return err
}

func (t *turn) begin(stop context.CancelCauseFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = stop
	return t.holds == 0
}

func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = nil
}

// hold stops the harvest that runs and waits for the turn.
func (t *turn) hold(ctx context.Context) (release func(), err error) {
	t.mu.Lock()
	if t.holds++; t.holds == 1 {
		close(t.held)
	}
	if t.stop != nil {
		t.stop(errHeld)
	}
	t.mu.Unlock()
	over := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.holds--; t.holds == 0 {
			t.held = make(chan struct{})
		}
	}
	select {
	case <-t.token:
	case <-ctx.Done():
		over()
		return nil, ctx.Err()
	}
	return sync.OnceFunc(func() {
		over()
		t.token <- struct{}{}
	}), nil
}
