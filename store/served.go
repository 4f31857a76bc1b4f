package store

import (
	"context"

	"github.com/kenlayer/ken"
)

// Served is an engine that can be served to other processes: what it offers beyond
// Engine serves to answer in pages and to say how old an answer is.
type Served interface {
	Engine

	// ID identifies the store, however it is called and wherever it lies.
	ID() string
	// Commit is the number of the last commit that readers see in full. What is read
	// after it was asked for is at least as new.
	Commit() uint64
	// Glances looks at the claims from a ref on, repository chunks left out, and
	// returns up to n of those that pass the filter, oldest record first, with the ref
	// to go on from; done says that there are no more. A nil filter lets all pass.
	Glances(ctx context.Context, f *ken.Filter, from Ref, n int) (page []Located, next Ref, done bool, err error)
	// NamesAfter is Structure.Names in pages: up to n names after one; more says that
	// there are further ones.
	NamesAfter(ctx context.Context, f *ken.Filter, after string, n int) (page []NameCount, more bool, err error)
	// Records reads records in one go, in the order of the refs. One that is gone is
	// left out. The slices of the result are the caller's.
	Records(ctx context.Context, refs []Ref) ([]Record, error)
	Copier
}

// Copier is a store that can copy itself while it is open.
type Copier interface {
	// CopyTo writes a copy of the store, as of one commit, into a folder that is there
	// and empty. The keyword index is left out: who opens the copy makes it anew.
	CopyTo(ctx context.Context, dir string) error
}

// Located is what a scan sees of the claim at a ref.
type Located struct {
	Ref    Ref
	Glance Glance
}

// Record is a claim and where it lies.
type Record struct {
	Ref   Ref
	Claim ken.Claim
}
