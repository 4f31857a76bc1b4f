// Package topk keeps the best n of many items in a heap. The indexes of a store use it
// for search results.
package topk

import "slices"

// Ranked is an item with a total order, so that the best items don't depend on the
// order of the offers.
type Ranked[T any] interface{ Better(than T) bool }

// Heap holds the best n of the offered items, with the worst first. It must not be used
// concurrently.
type Heap[T Ranked[T]] struct {
	n    int
	heap []T
}

// New returns an empty heap for the best n, n > 0.
func New[T Ranked[T]](n int) *Heap[T] { return &Heap[T]{n: n} }

// Full reports whether the heap has n items. From then on, only an item better than
// Worst is added.
func (h *Heap[T]) Full() bool { return len(h.heap) >= h.n }

// Worst returns the worst item; the heap must not be empty.
func (h *Heap[T]) Worst() T { return h.heap[0] }

// Offer adds an item if it is among the best so far, and reports whether it did.
func (h *Heap[T]) Offer(item T) bool {
	if !h.Full() {
		if h.heap == nil {
			h.heap = make([]T, 0, min(h.n, 128))
		}
		h.heap = append(h.heap, item)
		for i := len(h.heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !h.heap[up].Better(h.heap[i]) {
				break
			}
			h.heap[up], h.heap[i] = h.heap[i], h.heap[up]
			i = up
		}
		return true
	}
	if !item.Better(h.heap[0]) {
		return false
	}
	h.heap[0] = item
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.heap); c++ {
			if h.heap[worst].Better(h.heap[c]) {
				worst = c
			}
		}
		if worst == i {
			return true
		}
		h.heap[i], h.heap[worst] = h.heap[worst], h.heap[i]
		i = worst
	}
}

// Merge offers all items of other.
func (h *Heap[T]) Merge(other *Heap[T]) {
	for _, item := range other.heap {
		h.Offer(item)
	}
}

// Sorted returns the items, best first; the heap must not be used afterwards.
func (h *Heap[T]) Sorted() []T {
	slices.SortFunc(h.heap, func(a, b T) int {
		switch {
		case a.Better(b):
			return -1
		case b.Better(a):
			return 1
		}
		return 0
	})
	return h.heap
}
