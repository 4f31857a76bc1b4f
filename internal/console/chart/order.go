package chart

import (
	"cmp"
	"slices"
)

// sweeps is how often the columns are sorted by their neighbours, once in each
// direction. More change little.
const sweeps = 6

// order sorts each column so that edges cross little, and keeps the best order seen.
func (l *layout) order() {
	l.index()
	best, fewest := l.snapshot(), l.crossings()
	for n := range 2 * sweeps {
		if fewest == 0 {
			break
		}
		l.sweep(n%2 == 0)
		if c := l.crossings(); c < fewest {
			best, fewest = l.snapshot(), c
		}
	}
	l.columns = best
	l.index()
}

// sweep goes through the columns, to the right or to the left, and sorts each by the
// mean place of the neighbours in the column before. Who has none stays where it is.
func (l *layout) sweep(right bool) {
	for k := range l.columns {
		col := l.columns[k]
		if !right {
			col = l.columns[len(l.columns)-1-k]
		}
		for _, p := range col {
			beside := p.prev
			if !right {
				beside = p.next
			}
			p.pull = p.part
			if len(beside) > 0 {
				p.pull = 0
				for _, o := range beside {
					p.pull += o.part / float64(len(beside))
				}
			}
		}
		slices.SortStableFunc(col, func(a, b *place) int { return cmp.Compare(a.pull, b.pull) })
		reindex(col)
	}
}

func (l *layout) index() {
	for _, col := range l.columns {
		reindex(col)
	}
}

func reindex(col []*place) {
	for i, p := range col {
		p.index = i
		p.part = (float64(i) + .5) / float64(len(col))
	}
}

func (l *layout) snapshot() [][]*place {
	out := make([][]*place, len(l.columns))
	for i, col := range l.columns {
		out[i] = slices.Clone(col)
	}
	return out
}

// crossings counts how often edges between neighbouring columns cross: the inversions
// of their ends, counted with a tree of sums.
func (l *layout) crossings() int {
	total := 0
	for k := 0; k+1 < len(l.columns); k++ {
		size := len(l.columns[k+1])
		sums := make([]int, size+1)
		seen := 0
		var ends []int
		for _, p := range l.columns[k] {
			ends = ends[:0]
			for _, o := range p.next {
				ends = append(ends, o.index)
			}
			for _, end := range ends {
				atMost := 0
				for i := end + 1; i > 0; i -= i & -i {
					atMost += sums[i]
				}
				total += seen - atMost
			}
			for _, end := range ends { // edges from one place do not cross
				seen++
				for i := end + 1; i <= size; i += i & -i {
					sums[i]++
				}
			}
		}
	}
	return total
}
