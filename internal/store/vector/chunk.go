package vector

import (
	"math/bits"

	"github.com/viterin/vek/vek32"
)

// chunkRows is how many rows are stored, locked and given to a worker together:
// a megabyte of 256-dimensional vectors, scanned in some tens of microseconds.
const chunkRows = 1024

// chunk is a block of rows. Rows never move; one that is deleted leaves a hole
// for the next new one.
type chunk struct {
	rows  []float32 // chunkRows vectors, one after another
	refs  [chunkRows]uint32
	live  [chunkRows / 64]uint64 // a bit per row
	signs []uint64               // the rows' bits, above center or not
	// center is what the signs are relative to: the mean of all rows at some
	// time. Chunks may have different ones for a while.
	center []float32
}

func newChunk(dim int, center []float32) *chunk {
	return &chunk{
		rows:   make([]float32, chunkRows*dim),
		signs:  make([]uint64, chunkRows*signWords(dim)),
		center: center,
	}
}

func (c *chunk) row(i int) []float32 {
	dim := len(c.center)
	return c.rows[i*dim : (i+1)*dim : (i+1)*dim]
}

func (c *chunk) alive(i int) bool { return c.live[i/64]>>(i%64)&1 == 1 }

func (c *chunk) set(i int, ref uint32, vec []float32) {
	copy(c.row(i), vec)
	c.refs[i] = ref
	c.live[i/64] |= 1 << (i % 64)
	w := signWords(len(vec))
	signsOf(c.signs[i*w:(i+1)*w], vec, c.center)
}

// remove also blanks the row: memory that holds a forgotten text's vector
// should not wait for the next row to be overwritten.
func (c *chunk) remove(i int) {
	c.live[i/64] &^= 1 << (i % 64)
	clear(c.row(i))
}

// recenter computes all signs anew.
func (c *chunk) recenter(center []float32) {
	c.center = center
	w := signWords(len(center))
	for i := range chunkRows {
		if c.alive(i) {
			signsOf(c.signs[i*w:(i+1)*w], c.row(i), center)
		}
	}
}

// each calls f for every live row.
func (c *chunk) each(f func(i int)) {
	for w, word := range c.live {
		for ; word != 0; word &= word - 1 {
			f(64*w + bits.TrailingZeros64(word))
		}
	}
}

// exact offers all rows to t. The filter is asked last: it is only needed for
// the few rows that would be among the best.
func (c *chunk) exact(q *query, t *top) {
	c.each(func(i int) {
		if s := c.score(i, q); wants(t, s) && (q.accept == nil || q.accept(s.ref)) {
			t.Offer(c.finish(s, i, q))
		}
	})
}

// score computes what candidates are ordered by.
func (c *chunk) score(i int, q *query) scored {
	return scored{ref: c.refs[i], score: vek32.Dot(q.toward, c.row(i))}
}

// finish adds what only rows that are kept need.
func (c *chunk) finish(s scored, i int, q *query) scored {
	s.mean = vek32.Dot(q.mean, c.row(i))
	s.cosine = s.score + s.mean // toward is vec less the mean
	return s
}
