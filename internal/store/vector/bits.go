package vector

import (
	"context"
	"math"
	"sync"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/topk"
)

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
