package codegraph

import "slices"

// top keeps the first n of what it is given, by less, as a heap with the last of them
// on its top.
type top[T any] struct {
	n    int
	less func(a, b T) bool
	heap []T
}

// takes reports whether x would be among the first.
func (t *top[T]) takes(x T) bool { return len(t.heap) < t.n || t.n > 0 && t.less(x, t.heap[0]) }

func (t *top[T]) add(x T) {
	if len(t.heap) < t.n {
		t.heap = append(t.heap, x)
		for i := len(t.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !t.less(t.heap[up], t.heap[i]) {
				break
			}
			t.heap[up], t.heap[i] = t.heap[i], t.heap[up]
			i = up
		}
		return
	}
	if !t.takes(x) {
		return
	}
	t.heap[0] = x
	for i := 0; ; {
		last := i
		for _, c := range []int{2*i + 1, 2*i + 2} {
			if c < len(t.heap) && t.less(t.heap[last], t.heap[c]) {
				last = c
			}
		}
		if last == i {
			return
		}
		t.heap[i], t.heap[last] = t.heap[last], t.heap[i]
		i = last
	}
}

// sorted returns what was kept, the first first.
func (t *top[T]) sorted() []T {
	slices.SortFunc(t.heap, func(a, b T) int {
		switch {
		case t.less(a, b):
			return -1
		case t.less(b, a):
			return 1
		}
		return 0
	})
	return t.heap
}
