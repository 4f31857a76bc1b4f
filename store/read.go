package store

import (
	"context"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Ref names a record within an owner's projections: small, stable while the
// store is open, and meaningless elsewhere.
type Ref = uint32

// Row is what ranking and budgeting need to know of a record without reading it.
type Row struct {
	ID         string
	Facts      ken.Facts
	Support    ken.Support
	CreatedAt  time.Time
	Constraint bool
	// Version changes whenever the record does, so that what was made of it can be
	// kept. It means nothing in another store.
	Version uint64
}

// Hit is a record that a leg found.
type Hit struct {
	Ref   Ref
	Score float64 // BM25, or cosine in -1..1
	Share float64 // keyword: the part of the query's terms that the record has, 0..1, rare ones counting more; vector: cosine after the mean is taken off, -1..1

	// Parts is what each of the query's terms adds to a keyword score, in the
	// order of Result.Values; nil from other legs. It is not changed.
	Parts []float32
}

// Rejected is a record that a leg found and the filter refused.
type Rejected struct {
	Ref    Ref
	Reason ken.CutReason
}

// Result is a leg's answer: hits best first, in a deterministic order.
type Result struct {
	Hits []Hit
	// Values is what each term of a keyword query is of Share, 0..1: a record
	// that has all terms has at least 1. Terms names them. Neither is changed.
	Values []float32
	Terms  []string
	// Query is the vector that was compared with, for Projections.Cosines; nil
	// from other legs.
	Query []float32
	Cut   []Rejected // seen among the best and refused; not complete
}

// Projections is the read side of one owner's store: what a turn retrieves from.
// Methods are safe for concurrent use and every one that searches takes the
// filter. A Ref that is no longer there is skipped by its reader: a record may
// go between two calls.
type Projections interface {
	Structure

	// Keyword searches the index for the terms of text.
	Keyword(ctx context.Context, text string, f *ken.Filter, limit int) (Result, error)
	// Vector compares with every vector of the model that made query. It fails
	// with ErrInvalid when the dimension differs.
	Vector(ctx context.Context, query []float32, f *ken.Filter, limit int) (Result, error)
	// Cosines compares with the vectors of these records, as Vector does for
	// Hit.Share: centred, 0 for a record without a vector.
	Cosines(query []float32, refs []Ref) []float64
	// Pinned lists what belongs into every turn, newest first: hot claims,
	// approved patterns, active objectives.
	Pinned(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Newest lists the newest records that pass the filter, by creation, newest
	// first; hits have no score. It is quick for a filter that names its kinds, fact
	// and document not among them, however large the store: elsewhere it may look at
	// every record. Result.Cut names at most limit of those that were refused on the
	// way; a limit below 1 finds nothing.
	Newest(ctx context.Context, f *ken.Filter, limit int) (Result, error)
	// Referring returns the records, repository chunks left out, that pass the filter and
	// carry one of the names, however it is written, or whose evidence points at one of
	// them as it is written: see References. By ref, each once. The time it takes grows
	// with what it returns, not with the store.
	Referring(ctx context.Context, names []string, f *ken.Filter) ([]Ref, error)
	// Row returns what is known of a record at hand.
	Row(ref Ref) (Row, bool)
	// Form returns how the record's text speaks; zero when it is gone.
	Form(ref Ref) analysis.Form
	// Around returns up to n records before ref and n after it in the session or
	// the file that it comes from, nearest first. No filter applies: what is done
	// with them is the caller's affair.
	Around(ref Ref, n int) (before, after []Ref)
	// Has reports whether a record of this id is there; false once it is forgotten.
	Has(id string) bool
	// Claim reads a record; ErrNotFound when it is gone.
	Claim(ctx context.Context, ref Ref) (ken.Claim, error)
	// Coverage is how many records have a vector of the current model, and how
	// many there are.
	Coverage() (embedded, total int)
}
