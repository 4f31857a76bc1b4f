package vector

import "github.com/kenlayer/ken/internal/topk"

// scored is a row that may become a hit.
type scored struct {
	ref    uint32
	score  float32 // its dot product with query.toward
	cosine float32 // with the query; this and the next only in rows that are kept
	mean   float32 // with the mean
}

// Better orders by score, then by ref.
func (a scored) Better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best rows.
type top = topk.Heap[scored]

// wants reports whether s would be among the best so far.
func wants(t *top, s scored) bool { return !t.Full() || s.Better(t.Worst()) }

func newTops(workers, n int) []*top {
	tops := make([]*top, workers)
	for w := range tops {
		tops[w] = topk.New[scored](n)
	}
	return tops
}

// mergeTops gathers everything in the first.
func mergeTops(tops []*top) *top {
	for _, t := range tops[1:] {
		tops[0].Merge(t)
	}
	return tops[0]
}
