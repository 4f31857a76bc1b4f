package vector

import (
	"fmt"
	"sync"
)

// Options configures an index; the zero value is the default.
type Options struct {
	// ScanRows is the number of rows above which candidates come from the bits;
	// 0 means 5,000, negative means never.
	ScanRows int
	// Oversample is the number of candidates per wanted hit; <= 0 chooses by the
	// numbers of rows and dimensions, for a recall of 0.99 or more.
	Oversample int
	// Workers is how many goroutines share one search of a large index; <= 0
	// means GOMAXPROCS.
	Workers int
}

// Index holds the vectors of one model in memory: four bytes per dimension, one
// bit per dimension and about thirty bytes a row. It is safe for concurrent use.
type Index struct {
	dim  int
	opts Options

	mu     sync.RWMutex // guards everything below
	chunks []*chunk
	slots  map[uint32]int // ref to row; row i is row i%chunkRows of chunk i/chunkRows
	free   []int          // holes
	next   int            // the first row that was never used

	sum     []float64 // of all rows, for the mean
	center  []float32 // what new signs are relative to
	stale   int       // chunks before this one may have an older center
	changes int       // writes since center was set
}

// New returns an empty index for vectors of dim numbers. It panics when dim is
// not in 1..65535.
func New(dim int, o Options) *Index {
	if dim < 1 || dim > maxDim {
		panic(fmt.Sprintf("vector.New: %d dimensions", dim))
	}
	if o.ScanRows == 0 {
		o.ScanRows = 5_000
	}
	return &Index{dim: dim, opts: o, slots: map[uint32]int{}, sum: make([]float64, dim), center: make([]float32, dim)}
}

// Dim is the number of dimensions.
func (x *Index) Dim() int { return x.dim }

// Len is the number of rows.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Set stores a copy of vec as ref's row, in place of the one it had. A vector of
// another dimension or not of unit length is an ErrInvalid.
func (x *Index) Set(ref uint32, vec []float32) error {
	if err := check(vec, x.dim); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	slot, had := x.slots[ref]
	if had {
		x.account(slot, -1)
	} else {
		slot = x.take()
		x.slots[ref] = slot
	}
	x.chunks[slot/chunkRows].set(slot%chunkRows, ref, vec)
	x.account(slot, +1)
	x.changed()
	return nil
}

// Delete removes ref's row and reports whether there was one.
func (x *Index) Delete(ref uint32) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	slot, had := x.slots[ref]
	if !had {
		return false
	}
	x.account(slot, -1)
	x.chunks[slot/chunkRows].remove(slot % chunkRows)
	delete(x.slots, ref)
	x.free = append(x.free, slot)
	x.changed()
	return true
}

// take returns a row for a new ref.
func (x *Index) take() int {
	if n := len(x.free); n > 0 {
		slot := x.free[n-1]
		x.free = x.free[:n-1]
		return slot
	}
	if x.next == len(x.chunks)*chunkRows {
		x.chunks = append(x.chunks, newChunk(x.dim, x.center))
	}
	x.next++
	return x.next - 1
}

// account adds a row to the sum, or takes it off.
func (x *Index) account(slot int, sign float64) {
	for i, v := range x.chunks[slot/chunkRows].row(slot % chunkRows) {
		x.sum[i] += sign * float64(v)
	}
}

// changed keeps the center near the mean: after as many writes as a quarter of
// the rows the mean becomes the center, and each write after that brings one
// chunk up to it. So no write takes longer than one chunk does.
func (x *Index) changed() {
	x.changes++
	if x.stale > 0 {
		x.stale--
		if c := x.chunks[x.stale]; &c.center[0] != &x.center[0] {
			c.recenter(x.center)
		}
	} else if x.changes > len(x.slots)/4 {
		x.center = x.mean()
		x.changes = 0
		x.stale = len(x.chunks)
	}
}

// mean is a new slice with the mean of all rows; zeros when there are none.
func (x *Index) mean() []float32 {
	m := make([]float32, x.dim)
	if n := float64(len(x.slots)); n > 0 {
		for i, s := range x.sum {
			m[i] = float32(s / n)
		}
	}
	return m
}
