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

// scratch holds the distances of one search; they are worth keeping, two bytes
// for every row.
var scratch = sync.Pool{New: func() any { return new([]uint16) }}

// candidates is how many cosines are worth computing for k hits. What the bits
// leave uncertain grows with the rows and shrinks with the dimensions. On real
// texts (a static model of 64 dimensions over code, chats and conversations),
// recall@50 of 0.99 takes this many candidates per hit:
//
//	rows        1,128   2,257   4,514   9,028   9,028 of 32 dimensions
//	candidates     14      23      37      56      82
//
// which is the power of 2/3 of the rows and about 1/2 of the dimensions.
func (x *Index) candidates(k, rows int) int {
	per := float64(x.opts.Oversample)
	if per <= 0 {
		per = 60 * math.Pow(float64(rows)/9000, 2.0/3) * math.Sqrt(64/float64(x.dim))
	}
	return int(math.Ceil(per * float64(k)))
}

// searchBits ranks all rows by how many bits differ from the query's and
// computes the cosines of the nearest.
//
// Whole rings of equal distance are taken, nearest first, until enough rows have
// passed the filter. So which rows are looked at does not depend on their order,
// and a filter that refuses nearly all only makes the search go further out.
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
	step := want // what would do if the filter let all through
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

// ring is the rows whose distance is from <= d < to.
type ring struct {
	dists    []uint16
	from, to uint16
}

// gather keeps the k best rows of a ring and counts those that pass the filter.
//
// It goes through a chunk three times: for the rows that count, for their products,
// and for the best of these. Between one row's product and the next there is nothing
// to decide then, so that a core fetches several of them from memory at once, and
// that is what a search waits for.
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
			if s := (scored{ref: c.refs[row], score: scores[j]}); wants(tops[w], s) {
				tops[w].Offer(c.finish(s, int(row), q))
			}
		}
	})
	for _, n := range counts {
		passed += n
	}
	return mergeTops(tops), passed, err
}

// signWords is how many words the bits of one vector take.
func signWords(dim int) int { return (dim + 63) / 64 }

// signsOf sets bit i of dst when vec[i] is above center[i], without a branch: it
// is the sign bit of their difference.
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

// hole is the distance of a row that is none.
const hole = 1<<16 - 1

// distances writes how many bits of each row differ from q's. A distance is
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
