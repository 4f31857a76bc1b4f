package vector

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/topk"
)

// rowsPerWorker is the number of rows for which starting another goroutine pays off.
const rowsPerWorker = 16 * chunkRows

// Hit is one row.
type Hit struct {
	Ref   uint32
	Score float32 // cosine to the query, -1..1 but for rounding
	// Centred is the cosine after half of the mean of all rows is subtracted from the
	// row and the query; hits are ordered by it. Centring spreads the scores of models
	// whose vectors all point in similar directions, and helps to detect queries on
	// unrelated subjects: see meanShare.
	Centred float32
}

// meanShare is the share of the mean that centring subtracts. With the built-in
// embedder and the same loss of good results, the retriever's floor lets 6 % of
// unrelated questions through with a half, 11 % with all and 7 % with none. The results
// are the same otherwise. With few rows, a smaller share is subtracted, because the
// mean contains much of the rows' own content.
const (
	meanShare = 0.5
	fewRows   = 50 // with this many rows, half of meanShare is used
)

// query is the state of one search.
type query struct {
	vec    []float32
	toward []float32 // vec minus the mean; candidates are ordered by their product with it
	mean   []float32 // the part of the mean that is subtracted
	center []float32 // the center of most chunks
	accept func(ref uint32) bool

	qm, mm float64 // products of query and mean, and of the mean with itself; the same for every row
}

// query prepares a search; x.mu is held.
func (x *Index) query(vec []float32, accept func(ref uint32) bool) *query {
	q := &query{vec: vec, mean: x.mean(), center: x.center, accept: accept}
	n := float32(len(x.slots))
	vek32.MulNumber_Inplace(q.mean, meanShare*n/(n+fewRows))
	q.toward = vek32.Sub(vec, q.mean)
	q.qm, q.mm = float64(vek32.Dot(vec, q.mean)), float64(vek32.Dot(q.mean, q.mean))
	return q
}

// Search returns the k rows nearest to vec after centring, best first, equal scores by
// ref, among those that accept accepts; nil accepts everything. accept is called
// concurrently and with the index locked: it must be fast and must not call the index.
// Search returns ctx's error when ctx ends first, and an ErrInvalid for a query that
// Set would reject.
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
		best, err = x.searchExact(ctx, chunks, q, k+extraCandidates)
	} else {
		best, err = x.searchBits(ctx, chunks, q, k+extraCandidates, candidates)
	}
	if err != nil {
		return nil, err
	}
	hits := q.hits(best)
	return hits[:min(k, len(hits))], nil
}

// extraCandidates is how many more candidates than hits are kept, because the order by the
// product with query.toward differs slightly from that by the centred cosine.
const extraCandidates = 50

// Centred returns the centred cosine of each ref's row to vec, 0 for a ref without a
// row. A query that Set would reject is an ErrInvalid.
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

// workers returns the number of goroutines that pay off for a number of chunks.
func (x *Index) workers(chunks int) int {
	most := x.opts.Workers
	most = cmp.Or(max(most, 0), runtime.GOMAXPROCS(0))
	return max(1, min(most, chunks*chunkRows/rowsPerWorker))
}

// share calls visit for every chunk from 0 to n-1, each under the read lock, on workers
// goroutines. It checks ctx before every chunk.
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

// hits converts the kept rows to hits, best first.
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

// centred returns a row's centred cosine, computed from its products with the query and
// the mean.
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

// scratch holds slices for the distances of a search, two bytes for each row.
var scratch = sync.Pool{New: func() any { return new([]uint16) }}

// candidates returns the number of cosines to compute for k hits. The uncertainty of
// the bits grows with the rows and shrinks with the dimensions. On real texts (a static
// model of 64 dimensions over code, chats and conversations), recall@50 of 0.99 takes
// this many candidates per hit:
//
//	rows        1,128   2,257   4,514   9,028   9,028 of 32 dimensions
//	candidates     14      23      37      56      82
//
// which is proportional to the rows to the power of 2/3, and to the dimensions to the
// power of about -1/2.
func (x *Index) candidates(k, rows int) int {
	per := float64(x.opts.Oversample)
	if per <= 0 {
		per = 60 * math.Pow(float64(rows)/9000, 2.0/3) * math.Sqrt(64/float64(x.dim))
	}
	return int(math.Ceil(per * float64(k)))
}

// searchBits ranks all rows by the number of bits that differ from the query's, and
// computes the cosines of the nearest.
//
// Rows are taken in groups of equal distance, nearest first, until enough rows have
// passed the filter. So the result does not depend on the order of the rows, and a
// narrow filter only makes the search look at larger distances.
func (x *Index) searchBits(ctx context.Context, chunks []*chunk, q *query, k, candidates int) (*top, error) {
	held := scratch.Get().(*[]uint16)
	defer scratch.Put(held)
	if need := len(chunks) * chunkRows; cap(*held) < need {
		*held = make([]uint16, need)
	}
	dists := (*held)[:len(chunks)*chunkRows]
	rings, err := x.measure(ctx, chunks, q, dists)
	if err != nil {
		return nil, err
	}
	best := topk.New[scored](k)
	want := candidates
	step := want // enough if the filter accepts all
	for from := 0; from < len(rings) && want > 0; {
		to, rows := from, 0
		for ; to < len(rings) && rows < step; to++ {
			rows += rings[to]
		}
		found, passed, err := x.gather(ctx, chunks, q, k, ring{dists, uint16(from), uint16(to)})
		if err != nil {
			return nil, err
		}
		best.Merge(found)
		want -= passed
		step = 4 * rows
		from = to
	}
	return best, nil
}

// measure fills dists and counts the rows at each distance.
func (x *Index) measure(ctx context.Context, chunks []*chunk, q *query, dists []uint16) ([]int, error) {
	workers := x.workers(len(chunks))
	counts := make([][]int, workers)
	for w := range counts {
		counts[w] = make([]int, x.dim+1)
	}
	signs := make([]uint64, signWords(x.dim))
	signsOf(signs, q.vec, q.center)
	err := x.share(ctx, workers, len(chunks), func(w, i int) {
		c := chunks[i]
		signs := signs
		if &c.center[0] != &q.center[0] {
			signs = make([]uint64, len(signs))
			signsOf(signs, q.vec, c.center)
		}
		part := dists[i*chunkRows : (i+1)*chunkRows]
		c.distances(part, signs)
		count := counts[w]
		for _, d := range part {
			if d != hole {
				count[d]++
			}
		}
	})
	for _, count := range counts[1:] {
		for d, n := range count {
			counts[0][d] += n
		}
	}
	return counts[0], err
}

// ring selects the rows whose distance d is from <= d < to.
type ring struct {
	dists    []uint16
	from, to uint16
}

// gather keeps the k best rows of a ring and counts the rows that pass the filter.
//
// It passes over a chunk three times: to select the rows, to compute their products,
// and to find the best. Computing the products without branches in between lets a core
// load several rows from memory at once, and memory is what limits a search.
func (x *Index) gather(ctx context.Context, chunks []*chunk, q *query, k int, r ring) (best *top, passed int, err error) {
	workers := x.workers(len(chunks))
	tops, counts := newTops(workers, k), make([]int, workers)
	width := r.to - r.from
	err = x.share(ctx, workers, len(chunks), func(w, i int) {
		c := chunks[i]
		var rows [chunkRows]uint16
		n := 0
		for row, d := range r.dists[i*chunkRows : (i+1)*chunkRows] {
			if d-r.from < width && c.alive(row) && (q.accept == nil || q.accept(c.refs[row])) {
				rows[n] = uint16(row)
				n++
			}
		}
		counts[w] += n
		var scores [chunkRows]float32
		for j, row := range rows[:n] {
			scores[j] = vek32.Dot(q.toward, c.row(int(row)))
		}
		for j, row := range rows[:n] {
			if s := (scored{ref: c.refs[row], score: scores[j]}); wouldKeep(tops[w], s) {
				tops[w].Offer(c.finish(s, int(row), q))
			}
		}
	})
	for _, n := range counts {
		passed += n
	}
	return mergeTops(tops), passed, err
}

// signWords returns the number of words for the bits of one vector.
func signWords(dim int) int { return (dim + 63) / 64 }

// signsOf sets bit i of dst if vec[i] > center[i]. It avoids branches by using the sign
// bit of the difference.
func signsOf(dst []uint64, vec, center []float32) {
	center = center[:len(vec)]
	for w := range dst {
		var word uint64
		lo, hi := 64*w, min(64*w+64, len(vec))
		c := center[lo:hi]
		for i, v := range vec[lo:hi] {
			word |= uint64(math.Float32bits(c[i]-v)>>31) << i
		}
		dst[w] = word
	}
}

// hole is the distance of an unused row.
const hole = 1<<16 - 1

// distances writes the number of bits in which each row differs from q. A distance is
// below maxDim < hole.
func (c *chunk) distances(dst []uint16, q []uint64) {
	switch len(q) {
	case 4: // 256 dimensions
		q0, q1, q2, q3 := q[0], q[1], q[2], q[3]
		for i := range dst {
			s := c.signs[4*i : 4*i+4 : 4*i+4]
			dst[i] = uint16(bits.OnesCount64(q0^s[0]) + bits.OnesCount64(q1^s[1]) +
				bits.OnesCount64(q2^s[2]) + bits.OnesCount64(q3^s[3]))
		}
	default:
		for i := range dst {
			s := c.signs[i*len(q) : (i+1)*len(q)]
			n := 0
			for j, w := range q {
				n += bits.OnesCount64(w ^ s[j])
			}
			dst[i] = uint16(n)
		}
	}
	for w, word := range c.live {
		for dead := ^word; dead != 0; dead &= dead - 1 {
			dst[64*w+bits.TrailingZeros64(dead)] = hole
		}
	}
}
