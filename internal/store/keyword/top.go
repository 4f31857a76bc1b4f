package keyword

import "github.com/kenlayer/ken/internal/topk"

// scored is a document that may become a hit.
type scored struct {
	ref   uint32
	score float64
	has   uint64 // a bit for each of the plan's lists that the document is in
	slot  uint32 // where plan.kept has what each list adds; not of one that is only counted
}

// Better orders by score, then by ref.
func (a scored) Better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best documents.
type top = topk.Heap[scored]

// floor is the score below which a document is refused; 0 while there is room.
func floor(t *top) float64 {
	if !t.Full() {
		return 0
	}
	return t.Worst().score
}
