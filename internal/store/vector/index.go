package vector

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/topk"
)

// Options configures an index; the zero value is the default.
type Options struct {
	// ScanRows is the number of rows above which candidates are selected by their bits;
	// 0 means 5,000, negative means never.
	ScanRows int
	// Oversample is the number of candidates per wanted hit; <= 0 chooses by the
	// numbers of rows and dimensions, for a recall of 0.99 or more.
	Oversample int
	// Workers is the maximum number of goroutines for one search of a large index; <= 0
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
	free   []int          // deleted rows
	next   int            // the first unused row

	sum     []float64 // of all rows, for the mean
	center  []float32 // the center for new signs
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

// Dim returns the number of dimensions.
func (x *Index) Dim() int { return x.dim }

// Len returns the number of rows.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Set stores a copy of vec as ref's row, and replaces an earlier one. A vector of
// another dimension or not of unit length is an ErrInvalid.
func (x *Index) Set(ref uint32, vec []float32) error {
	if err := check(vec, x.dim); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	slot, had := x.slots[ref]
	if had {
		x.addToSum(slot, -1)
	} else {
		slot = x.take()
		x.slots[ref] = slot
	}
	x.chunks[slot/chunkRows].set(slot%chunkRows, ref, vec)
	x.addToSum(slot, +1)
	x.updateCenter()
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
	x.addToSum(slot, -1)
	x.chunks[slot/chunkRows].remove(slot % chunkRows)
	delete(x.slots, ref)
	x.free = append(x.free, slot)
	x.updateCenter()
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

// addToSum adds a row to the sum (sign 1) or subtracts it (sign -1).
func (x *Index) addToSum(slot int, sign float64) {
	for i, v := range x.chunks[slot/chunkRows].row(slot % chunkRows) {
		x.sum[i] += sign * float64(v)
	}
}

// updateCenter keeps the center near the mean. After as many writes as a quarter of the rows,
// the mean becomes the center, and each write after that updates one chunk to it. So the
// cost of a write is limited to one chunk.
func (x *Index) updateCenter() {
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

// mean returns a new slice with the mean of all rows; zeros when there are none.
func (x *Index) mean() []float32 {
	m := make([]float32, x.dim)
	if n := float64(len(x.slots)); n > 0 {
		for i, s := range x.sum {
			m[i] = float32(s / n)
		}
	}
	return m
}

// maxDim is the limit of the file header and of distances in bits, both 16 bits wide.
const maxDim = 1<<16 - 1

// unitTolerance is the allowed difference of a squared length from 1: several times the
// float32 rounding error over some thousand dimensions.
const unitTolerance = 2e-3

// check returns an error for a vector that can't be compared by dot product: of another
// dimension, not of unit length, or with a NaN.
func check(vec []float32, dim int) error {
	if len(vec) != dim {
		return &ken.Error{Code: ken.CodeInvalid, Field: "vector", Msg: fmt.Sprintf("%d dimensions instead of %d", len(vec), dim),
			Try: "Use the model that the other vectors came from."}
	}
	if l := float64(vek32.Dot(vec, vec)); !(math.Abs(l-1) <= unitTolerance) { // NaN fails too
		return &ken.Error{Code: ken.CodeInvalid, Field: "vector", Msg: fmt.Sprintf("length %.4g instead of 1", math.Sqrt(l)),
			Try: "Scale the vector to unit length."}
	}
	return nil
}

// Purge erases the vectors that keep rejects from a file that is not open. It deletes a
// file that is empty afterwards or can't be read, since it is only a cache. A missing
// file is no error.
func Purge(path string, keep func(Hash) bool) error {
	h, err := headerOf(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return remove(path)
	}
	f, err := OpenFile(path, FileOptions{Model: h.model, Dim: h.dim})
	if errors.Is(err, ken.ErrCorrupt) {
		return remove(path)
	}
	if err != nil {
		return fmt.Errorf("erase from vector file: %w", err)
	}
	var gone []Hash
	for _, h := range f.Hashes() {
		if !keep(h) {
			gone = append(gone, h)
		}
	}
	none := len(gone) == f.Len()
	if !none && len(gone) > 0 {
		err = f.Erase(gone...)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if none {
		return remove(path)
	}
	return nil
}

// ModelOf returns the model name in the file's header. The file need not be open.
func ModelOf(path string) (string, error) {
	h, err := headerOf(path)
	return h.model, err
}

func headerOf(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	return readHeader(f)
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove vector file: %w", err)
	}
	return nil
}

// scored is a row that may become a hit.
type scored struct {
	ref    uint32
	score  float32 // dot product with query.toward
	cosine float32 // cosine to the query; this and mean are only set in rows that are kept
	mean   float32 // dot product with query.mean
}

// Better orders by score, then by ref.
func (a scored) Better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top holds the best rows.
type top = topk.Heap[scored]

// wouldKeep reports whether s would be among the best so far.
func wouldKeep(t *top, s scored) bool { return !t.Full() || s.Better(t.Worst()) }

func newTops(workers, n int) []*top {
	tops := make([]*top, workers)
	for w := range tops {
		tops[w] = topk.New[scored](n)
	}
	return tops
}

// mergeTops merges all into the first.
func mergeTops(tops []*top) *top {
	for _, t := range tops[1:] {
		tops[0].Merge(t)
	}
	return tops[0]
}
