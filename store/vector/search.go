package vector

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"
)

// rowsPerWorker is how many rows make another goroutine worth its start.
const rowsPerWorker = 4 * chunkRows

// Hit is one row.
type Hit struct {
	Ref   uint32
	Score float32 // cosine to the query, -1..1 but for rounding
	// Centred is the cosine after the mean of all rows is taken off the row and
	// the query. It spreads the scores of models whose vectors all point much the
	// same way; with few rows it means little.
	Centred float32
}

// query is a search in flight.
type query struct {
	vec    []float32
	mean   []float32 // of all rows
	center []float32 // of most chunks
	accept func(ref uint32) bool
}

// Search returns the k rows nearest to vec, best first, equal scores by ref,
// among those that accept lets through; nil accepts everything. accept is called
// from several goroutines at once, with the index locked: it must be quick and
// must not call the index. Search returns ctx's error when ctx ends first, and
// an ErrInvalid for a query that Set would refuse.
func (x *Index) Search(ctx context.Context, vec []float32, k int, accept func(ref uint32) bool) ([]Hit, error) {
	if err := check(vec, x.dim); err != nil {
		return nil, err
	}
	x.mu.RLock()
	rows, chunks := len(x.slots), x.chunks
	q := &query{vec: vec, mean: x.mean(), center: x.center, accept: accept}
	x.mu.RUnlock()
	if rows == 0 || k <= 0 {
		return nil, ctx.Err()
	}
	var best *top
	var err error
	candidates := x.candidates(k, rows)
	if x.opts.ScanRows < 0 || rows <= x.opts.ScanRows || candidates > rows/2 {
		best, err = x.searchExact(ctx, chunks, q, k)
	} else {
		best, err = x.searchBits(ctx, chunks, q, k, candidates)
	}
	if err != nil {
		return nil, err
	}
	return q.hits(best), nil
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

// hits turns what was kept into hits.
//
// With x, q and m the row, the query and the mean, all products known,
// (x-m)(q-m) = xq - xm - qm + mm, and |x-m|² = 1 - 2xm + mm.
func (q *query) hits(best *top) []Hit {
	qm, mm := float64(vek32.Dot(q.vec, q.mean)), float64(vek32.Dot(q.mean, q.mean))
	var hits []Hit
	for _, s := range best.Sorted() {
		h := Hit{Ref: s.ref, Score: s.score}
		xm := float64(s.mean)
		if lengths := (1 - 2*xm + mm) * (1 - 2*qm + mm); lengths > 1e-9 {
			h.Centred = float32((float64(s.score) - xm - qm + mm) / math.Sqrt(lengths))
		}
		hits = append(hits, h)
	}
	return hits
}
