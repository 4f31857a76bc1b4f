package keyword

import (
	"fmt"

	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken/internal/caught"
)

const (
	// flushAt is how many documents the tail gathers before they go to the
	// engine. A search pays for the tail's matches only, and a crash costs
	// indexing this many again.
	flushAt = 1024
	// tailLimit is how many may wait while a flush is under way; then Apply waits.
	tailLimit = 4 * flushAt
)

// tails is what a search looks at besides the engine: the tail that is being
// filled, and the one that is on its way to the engine, nil when none is. Only
// a holder of x.writing makes a tail leave, and only one landing at a time ends
// that, so the two never race.
type tails struct{ filling, leaving *tail }

// spill hands the tail to the engine once it is large enough: in the background,
// or at once when too much waits. x.writing is held.
func (x *Index) spill(engine *scorch.Scorch) error {
	switch n := x.tails.Load().filling.size(); {
	case n >= tailLimit:
		return x.settle(engine)
	case n < flushAt || !x.landing.CompareAndSwap(false, true):
		return nil
	}
	x.leave()
	x.background.Go(func() {
		defer x.landing.Store(false)
		if err := x.land(engine); err != nil {
			x.fault.Store(&err) // the next one tries again
		}
	})
	return nil
}

// leave makes the filling tail the leaving one, unless one that could not land
// is still leaving. x.writing is held, and nothing is landing.
func (x *Index) leave() {
	if ts := x.tails.Load(); ts.leaving == nil {
		next := newTail(*x.applied.Load())
		ts.filling.reached = next.reached
		x.tails.Store(&tails{filling: next, leaving: ts.filling})
	}
}

// land writes the leaving tail to the engine, with the state that it brings it
// to. Until the engine has it, searches find it in memory.
func (x *Index) land(engine *scorch.Scorch) error {
	ts := x.tails.Load()
	batch := index.NewBatch()
	ts.leaving.fill(batch)
	batch.SetInternal(stateKey, ts.leaving.reached.encode())
	batch.SetPersistedCallback(func(err error) {
		if err == nil {
			x.fault.Store(nil)
		}
	})
	if err := caught.Run(func() error { return engine.Batch(batch) }); err != nil {
		return fmt.Errorf("write to the keyword index: %w", err)
	}
	x.tails.Store(&tails{filling: x.tails.Load().filling})
	return nil
}

// settle brings everything that was applied to the engine. x.writing is held.
func (x *Index) settle(engine *scorch.Scorch) error {
	x.background.Wait()
	for {
		ts := x.tails.Load()
		if ts.leaving == nil && ts.filling.reached == *x.applied.Load() {
			return nil
		}
		x.leave()
		if err := x.land(engine); err != nil {
			return err
		}
	}
}
