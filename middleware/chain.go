package middleware

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/retriever"
	"github.com/kenlayer/ken/store"
)

// State is a turn on its way through the chain. It belongs to one goroutine.
type State struct {
	Turn    ken.Turn      // its messages are without secrets: each is replaced by a marker
	Read    []ken.Message // what intent reads: the messages, cleaned by guard
	Signals ken.Signals
	Found   retriever.Result
	Block   budgeter.Block
	Receipt *ken.Receipt // filled in by every stage

	p      store.Projections
	shares []*share // what other owners share with the turn's, as far as it was there in time
	late   <-chan store.Result

	code   turnCode
	filter ken.Filter              // of the turn
	past   past                    // what it was told by earlier blocks of the conversation
	seq    uint64                  // the store's last event when the turn began to read it
	trial  *trial                  // nil for a turn
	stage  *atomic.Pointer[string] // the one that runs; nil for a trial
}

// Trial reports whether the turn is only tried: see Layer.Trial. A middleware that
// leaves something behind should not do so then.
func (st *State) Trial() bool { return st.trial != nil }

// Handler does something to a turn.
type Handler func(ctx context.Context, st *State) error

// Middleware wraps the rest of the chain. It may change the state before and
// after next, or not call next at all.
type Middleware func(next Handler) Handler

// chain builds one handler; the first middleware is the outermost.
func chain(m []Middleware) Handler {
	h := func(context.Context, *State) error { return nil }
	for i := len(m) - 1; i >= 0; i-- {
		h = m[i](h)
	}
	return h
}

// stage turns one of the layer's own steps into a middleware that fails open:
// what goes wrong is noted, and the rest of the chain runs.
func stage(name string, do func(context.Context, *State) error) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, st *State) error {
			start := time.Now()
			if st.stage != nil {
				st.stage.Store(&name)
			}
			if err := protect(ctx, st, do); err != nil {
				st.degrade(name, err)
			}
			st.Receipt.MS[name] = ms(time.Since(start))
			return next(ctx, st)
		}
	}
}

func protect(ctx context.Context, st *State, do Handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return do(ctx, st)
}

func (st *State) degrade(name string, err error) {
	why := name + ": " + err.Error()
	st.Receipt.Degraded = append(st.Receipt.Degraded, why)
	if st.Receipt.Cause == "" {
		st.Receipt.Cause = why
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
