package vector

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"
)

// rowsPerWorker is how many rows make another goroutine worth its start.
const rowsPerWorker = 16 * chunkRows

// Hit is one row.
type Hit struct {
	Ref   uint32
	Score float32 // cosine to the query, -1..1 but for rounding
	// Centred is the cosine after half of the mean of all rows is taken off the
	// row and the query, what hits are ordered by. It spreads the scores of models
	// whose vectors all point much the same way, and tells questions on foreign
	// subjects from others: see meanTaken.
	Centred float32
}

// meanTaken is how much of the mean centring takes off. With the built-in embedder
// the retriever's floor, at the same price, lets 6 % of foreign questions
// through with half, 11 % with all and 7 % with nothing taken off; what is
// found is the same. The mean of few rows counts less: it would take off what
// they say.
const (
	meanTaken = 0.5
	fewRows   = 50 // whose mean counts half
)

// query is a search in flight.
type query struct {
	vec    []float32
	toward []float32 // vec less the mean: a row's product with it orders the candidates
	mean   []float32 // the part of it that is taken off
	center []float32 // of most chunks
	accept func(ref uint32) bool

	qm, mm float64 // products of query and mean, and of the mean with itself: the same for every row
}

// query prepares a search; x.mu is held.
func (x *Index) query(vec []float32, accept func(ref uint32) bool) *query {
	q := &query{vec: vec, mean: x.mean(), center: x.center, accept: accept}
	n := float32(len(x.slots))
	vek32.MulNumber_Inplace(q.mean, meanTaken*n/(n+fewRows))
	q.toward = vek32.Sub(vec, q.mean)
	q.qm, q.mm = float64(vek32.Dot(vec, q.mean)), float64(vek32.Dot(q.mean, q.mean))
	return q
}

// Search returns the k rows nearest to vec after centring, best first, equal
// scores by ref, among those that accept lets through; nil accepts everything. accept is called
// from several goroutines at once, with the index locked: it must be quick and
// must not call the index. Search returns ctx's error when ctx ends first, and
// an ErrInvalid for a query that Set would refuse.
func (x *Index) Search(ctx context.Context, vec []float32, k int, accept func(ref uint32) bool) ([]Hit, error) {
	if err := check(vec, x.dim); err != nil {
		return nil, err
	}
	x.mu.RLock()
	rows, chunks := len(x.slots), x.chunks
	q := x.query(vec, accept)
	x.mu.RUnlock()
	if rows == 0 || k <= 0 {
		return nil, ctx.Err()
	}
	var best *top
	var err error
	candidates := x.candidates(k, rows)
	if x.opts.ScanRows < 0 || rows <= x.opts.ScanRows || candidates > rows/2 {
		best, err = x.searchExact(ctx, chunks, q, k+spare)
	} else {
		best, err = x.searchBits(ctx, chunks, q, k+spare, candidates)
	}
	if err != nil {
		return nil, err
	}
	hits := q.hits(best)
	return hits[:min(k, len(hits))], nil
}

// spare is how many more candidates than hits are kept: their order by the
// product with query.toward is not quite that by the centred cosine.
const spare = 50

// Centred returns the centred cosine of each ref's row to vec, 0 for one that has
// no row. A query that Set would refuse is an ErrInvalid.
func (x *Index) Centred(vec []float32, refs []uint32) ([]float32, error) {
	if err := check(vec, x.dim); err != nil {
		return nil, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	q := x.query(vec, nil)
	out := make([]float32, len(refs))
	for i, ref := range refs {
		if slot, ok := x.slots[ref]; ok {
			row := x.chunks[slot/chunkRows].row(slot % chunkRows)
			out[i] = q.centred(vek32.Dot(vec, row), vek32.Dot(q.mean, row))
		}
	}
	return out, nil
}

func (x *Index) searchExact(ctx context.Context, chunks []*chunk, q *query, k int) (*top, error) {
	workers := x.workers(len(chunks))
	tops := newTops(workers, k)
	err := x.share(ctx, workers, len(chunks), func(w, i int) { chunks[i].exact(q, tops[w]) })
	return mergeTops(tops), err
}

// workers is how many goroutines pay for a number of chunks.
func (x *Index) workers(chunks int) int {
	most := x.opts.Workers
	if most <= 0 {
		most = runtime.GOMAXPROCS(0)
	}
	return max(1, min(most, chunks*chunkRows/rowsPerWorker))
}

// share runs visit for every chunk from 0 to n-1, each under the read lock, on
// workers goroutines. It looks at ctx before every chunk.
func (x *Index) share(ctx context.Context, workers, n int, visit func(worker, chunk int)) error {
	var next atomic.Int64
	work := func(w int) {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			x.locked(func() { visit(w, i) })
		}
	}
	var others sync.WaitGroup
	for w := 1; w < workers; w++ {
		others.Go(func() { work(w) })
	}
	work(0)
	others.Wait()
	return ctx.Err()
}

func (x *Index) locked(f func()) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	f()
}

// hits turns what was kept into hits, best first.
func (q *query) hits(best *top) []Hit {
	sorted := best.Sorted()
	hits := make([]Hit, 0, len(sorted))
	for _, s := range sorted {
		hits = append(hits, Hit{Ref: s.ref, Score: s.cosine, Centred: q.centred(s.cosine, s.mean)})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Centred, a.Centred), cmp.Compare(b.Score, a.Score), cmp.Compare(a.Ref, b.Ref))
	})
	return hits
}

// centred is a row's centred cosine by its products with the query and the mean.
//
// With x, q and m the row, the query and the mean, all products known,
// (x-m)(q-m) = xq - xm - qm + mm, and |x-m|² = 1 - 2xm + mm.
func (q *query) centred(cosine, mean float32) float32 {
	xm := float64(mean)
	lengths := (1 - 2*xm + q.mm) * (1 - 2*q.qm + q.mm)
	if lengths <= 1e-9 {
		return 0
	}
	return float32((float64(cosine) - xm - q.qm + q.mm) / math.Sqrt(lengths))
}
