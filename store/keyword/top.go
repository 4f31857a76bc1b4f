package keyword

import (
	"cmp"
	"slices"
)

type scored struct {
	ref   uint32
	score float64
	has   uint64 // a bit for each of the plan's lists that the document is in
}

// better orders by score, then by ref.
func (a scored) better(b scored) bool {
	return a.score > b.score || a.score == b.score && a.ref < b.ref
}

// top keeps the best n of what it is offered: a heap with the worst in front.
type top struct {
	n    int
	heap []scored
}

func newTop(n int) *top { return &top{n: n, heap: make([]scored, 0, min(n, 64))} }

// floor is the score below which an offer is refused; 0 while there is room.
func (t *top) floor() float64 {
	if len(t.heap) < t.n {
		return 0
	}
	return t.heap[0].score
}

// offer reports whether the offer is among the best so far.
func (t *top) offer(s scored) bool {
	if len(t.heap) < t.n {
		t.heap = append(t.heap, s)
		for i := len(t.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !t.heap[up].better(t.heap[i]) {
				break
			}
			t.heap[up], t.heap[i] = t.heap[i], t.heap[up]
			i = up
		}
		return true
	}
	if !s.better(t.heap[0]) {
		return false
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
			return true
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

// sorted empties the heap, best first.
func (t *top) sorted() []scored {
	slices.SortFunc(t.heap, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref, b.ref))
	})
	return t.heap
}
