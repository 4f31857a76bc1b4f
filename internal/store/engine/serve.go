package engine

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Served is an engine that can be served to other processes: what it offers beyond
// Engine serves to answer in pages and to say how old an answer is.
type Served interface {
	store.Engine

	// ID identifies the store, however it is called and wherever it lies.
	ID() string
	// Commit is the number of the last commit that readers see in full. What is read
	// after it was asked for is at least as new.
	Commit() uint64
	// Glances looks at the claims from a ref on, repository chunks left out, and
	// returns up to n of those that pass the filter, oldest record first, with the ref
	// to go on from; done says that there are no more. A nil filter lets all pass.
	Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []Located, next store.Ref, done bool, err error)
	// NamesAfter is Structure.Names in pages: up to n names after one; more says that
	// there are further ones.
	NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error)
	// Records reads records in one go, in the order of the refs. One that is gone is
	// left out. The slices of the result are the caller's.
	Records(ctx context.Context, refs []store.Ref) ([]Record, error)
	Copier
}

// Copier is a store that can copy itself while it is open.
type Copier interface {
	// CopyTo writes a copy of the store, as of one commit, into a folder that is there
	// and empty. The keyword index is left out: who opens the copy makes it anew.
	CopyTo(ctx context.Context, dir string) error
}

// Move is a move of a store to another place: see bolt.Store.Move.
type Move struct {
	ID    string `json:"id"`    // unlike that of any other
	Place string `json:"place"` // the URL of an engine, or a folder
	// Arrived is the ID of the move that brought the store to where it is now; "" for none.
	Arrived string `json:"arrived,omitempty"`
}

// Located is what a scan sees of the claim at a ref.
type Located struct {
	Ref    store.Ref
	Glance store.Glance
}

// Record is a claim and where it lies.
type Record struct {
	Ref   store.Ref
	Claim ken.Claim
}

// AllEvents yields a log that is read in pages, as Log.Events does. page returns what
// follows from a sequence number on, and nothing at the log's end.
func AllEvents(ctx context.Context, from uint64, page func(ctx context.Context, from uint64) ([]*store.Event, error)) iter.Seq2[*store.Event, error] {
	return func(yield func(*store.Event, error) bool) {
		for next := from; ; {
			events, err := page(ctx, next)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(events) == 0 {
				return
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			next = events[len(events)-1].Seq + 1
		}
	}
}

// namesPage is how many names are counted at once: under a store's lock, or in one
// message.
const namesPage = 4096

// AllNames yields what a store has in pages, as Structure.Names does. The filter is
// as it was when AllNames was called.
func AllNames(ctx context.Context, f *ken.Filter, next func(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error)) iter.Seq2[store.NameCount, error] {
	own := *f
	return func(yield func(store.NameCount, error) bool) {
		for after, more := "", true; more; {
			var page []store.NameCount
			err := ctx.Err()
			if err == nil {
				page, more, err = next(ctx, &own, after, namesPage)
			}
			if err != nil {
				yield(store.NameCount{}, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
				after = c.Name
			}
			more = more && len(page) > 0
		}
	}
}
