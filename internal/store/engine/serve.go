package engine

import (
	"context"
	"iter"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// Served is an engine that can be served to other processes. In addition to Engine, it
// answers in pages and reports how recent an answer is.
type Served interface {
	store.Engine

	// ID returns the identity of the store, independent of its name and place.
	ID() string
	// Commit returns the number of the last commit that readers see completely. Data
	// read after the call is at least as new.
	Commit() uint64
	// Glances returns up to n claims from a ref on that pass the filter, oldest first,
	// without repository chunks. next is the ref to continue from; done reports that
	// there are no more. A nil filter passes all.
	Glances(ctx context.Context, f *ken.Filter, from store.Ref, n int) (page []Located, next store.Ref, done bool, err error)
	// NamesAfter is Structure.Names in pages: up to n names after the given one; more
	// reports whether further names follow.
	NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []store.NameCount, more bool, err error)
	// Records reads several records at once, in the order of the refs. Removed ones are
	// left out. The caller owns the slices of the result.
	Records(ctx context.Context, refs []store.Ref) ([]Record, error)
	Copier
}

// Copier is a store that can copy itself while it is open.
type Copier interface {
	// CopyTo writes a copy of the store, as of one commit, into an existing, empty
	// folder. The keyword index is left out: opening the copy rebuilds it.
	CopyTo(ctx context.Context, dir string) error
}

// Move describes a move of a store to another place: see bolt.Store.Move.
type Move struct {
	ID    string `json:"id"`    // unique
	Place string `json:"place"` // the URL of an engine, or a folder
	// Arrived is the ID of the move that brought the store to its current place; "" for
	// none.
	Arrived string `json:"arrived,omitempty"`
}

// Located is the ref and glance of a claim.
type Located struct {
	Ref    store.Ref
	Glance store.Glance
}

// Record is a claim and its ref.
type Record struct {
	Ref   store.Ref
	Claim ken.Claim
}

// Outlined returns the records that outlines contain.
func Outlined(outlines []store.Outline) (refs []store.Ref) {
	for i := range outlines {
		o := &outlines[i]
		refs = append(refs, o.Constraints...)
		for j := range o.Links {
			refs = append(refs, o.Links[j].Ref)
		}
		for j := range o.Aspects {
			refs = append(refs, o.Aspects[j].Top...)
		}
	}
	return refs
}

// AllEvents yields a log that is read in pages, as Log.Events does. page returns events
// from a sequence number on, and none at the log's end.
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

// namesPage is the number of names that are counted at once, under a store's lock or
// for one message.
const namesPage = 4096

// AllNames yields the names of a store that returns them in pages, as Structure.Names
// does. The filter is copied when AllNames is called.
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
