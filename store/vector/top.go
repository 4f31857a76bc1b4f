package vector

import (
	"cmp"
	"slices"
)

// scored is a row that may become a hit.
type scored struct {
	ref   uint32
	score float32 // its dot product with the query
	mean  float32 // and with the mean
}

// better orders by score, then by ref.
func (a scored) better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best n of what it is given: a heap with the worst in front.
type top struct {
	n    int
	heap []scored
}

func newTop(n int) *top { return &top{n: n, heap: make([]scored, 0, min(n, 64))} }

// wants reports whether s would be among the best so far.
func (t *top) wants(s scored) bool { return len(t.heap) < t.n || s.better(t.heap[0]) }

// add takes a row that is wanted.
func (t *top) add(s scored) {
	if len(t.heap) < t.n {
		t.heap = append(t.heap, s)
		for i := len(t.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !t.heap[up].better(t.heap[i]) {
				return
			}
			t.heap[up], t.heap[i] = t.heap[i], t.heap[up]
			i = up
		}
		return
	}
	t.heap[0] = s
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(t.heap); c++ {
			if t.heap[worst].better(t.heap[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

func newTops(workers, n int) []*top {
	tops := make([]*top, workers)
	for w := range tops {
		tops[w] = newTop(n)
	}
	return tops
}

// mergeTops gathers everything in the first.
func mergeTops(tops []*top) *top {
	for _, t := range tops[1:] {
		tops[0].merge(t)
	}
	return tops[0]
}

// merge adds what other kept.
func (t *top) merge(other *top) {
	for _, s := range other.heap {
		if t.wants(s) {
			t.add(s)
		}
	}
}

// sorted gives the heap up, best first.
func (t *top) sorted() []scored {
	slices.SortFunc(t.heap, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref))
	})
	return t.heap
}
