package keyword

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
)

// Query asks for the documents that share words with a text.
type Query struct {
	Text  string
	Limit int // at most this many hits; <= 0 means 50
	// Accept is the filter: it is asked about every document that would enter
	// the hits, in no particular order, possibly many more than Limit, and must
	// be quick. nil accepts everything.
	Accept func(ref uint32) bool
}

// Hit is one document.
type Hit struct {
	Ref   uint32
	Score float64   // BM25, > 0
	Share float64   // the part of the terms that it has, in 0..1, rare terms counting more
	Parts []float32 // what each term adds to Score, in the order of Result.Values
}

// Result is what a search found, and how. It belongs to the caller.
type Result struct {
	Hits []Hit // best first; equal scores by ref

	// Rejected are the documents that Accept refused and that would have ranked
	// above the last hit, or anywhere when there are fewer hits than Limit; best
	// first, at most Limit of them.
	Rejected []uint32

	// Weight is the most that a document could score: the sum of idf times
	// (K1 + 1) over Terms. A term that no document has counts too, with the
	// largest idf: a document that matches the only known word of five does not
	// have much of what was asked.
	Weight float64

	// Values is what each term that was searched for is of Share, and Named says
	// which term it is.
	Values []float32
	Named  []string

	Terms   []string // what was searched for, in the order of the text
	Common  []string // those of Terms that bring up no document; see Options.MaxPostings
	Dropped []string // what was not searched for, because there were too many terms
}

// Search finds the best documents for a query among those that Accept lets
// through. It returns ctx's error when ctx ends first, and ErrCorrupt when the
// index's files turn out to be damaged. A text without terms finds nothing.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	if q.Limit <= 0 {
		q.Limit = 50
	}
	terms := analysis.Terms(q.Text)
	if len(terms) == 0 {
		return Result{}, ctx.Err()
	}
	select {
	case x.slots <- struct{}{}:
		defer func() { <-x.slots }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	engine, done, err := x.use()
	if err != nil {
		return Result{}, err
	}
	defer done()
	recent := x.recent(terms) // before the snapshot: what lands in between is hidden there
	r, err := engine.Reader()
	if err != nil {
		return Result{}, fmt.Errorf("search keyword index: %w", err)
	}
	defer r.Close()
	return x.searchIn(ctx, r, recent, terms, q)
}

// searchIn searches one snapshot. Damage that the checksums did not catch makes
// the engine panic or fault; that is the index's end, not the process's. A
// panic of the caller's own Accept stays a panic.
func (x *Index) searchIn(ctx context.Context, r index.IndexReader, recent recent, terms []string, q Query) (res Result, err error) {
	asking := false
	if accept := q.Accept; accept != nil {
		q.Accept = func(ref uint32) bool {
			asking = true
			ok := accept(ref)
			asking = false
			return ok
		}
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if asking {
			return
		}
		if p := recover(); p != nil {
			res, err = Result{}, &ken.Error{Code: ken.CodeCorrupt, Field: x.dir, Msg: "can't read the keyword index",
				Try: "Remove the folder; it will be built anew.", Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	p, err := x.plan(ctx, r, recent, terms)
	defer p.close()
	if err == nil {
		res, err = p.run(ctx, r, q)
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("search keyword index: %w", err)
	}
	return res, err
}
