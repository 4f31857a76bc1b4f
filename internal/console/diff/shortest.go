package diff

import "slices"

// mostEdits bounds the words that are gone or new: with more of them two texts have too
// little in common for the rest to mean anything. The search keeps a row for each edit
// that it tries, so this also bounds its memory: to eight megabytes.
const mostEdits = 1000

// between adds what became of words that neither begin nor end alike, with as few edits
// as there can be: Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).
func (w *writer) between(a, b []string) {
	trace := search(a, b)
	if trace == nil {
		for _, s := range a {
			w.add(Gone, s)
		}
		for _, s := range b {
			w.add(New, s)
		}
		return
	}
	for _, e := range walk(trace, len(a), len(b)) {
		switch {
		case e.x == e.fromX:
			w.add(New, b[e.fromY])
		case e.y == e.fromY:
			w.add(Gone, a[e.fromX])
		default:
			w.add(Same, a[e.fromX])
		}
	}
}

// search returns, for each number of edits, how far along a one can get on each
// diagonal; the last row reaches both ends. It is nil when that takes too many edits.
func search(a, b []string) (trace [][]int) {
	n, m := len(a), len(b)
	row := []int{0, 0, 0} // diagonals -1, 0 and 1
	for d := 0; d <= min(n+m, mostEdits); d++ {
		next := make([]int, 2*d+3) // diagonals -d-1 .. d+1
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && at(row, k-1) < at(row, k+1):
				x = at(row, k+1)
			default:
				x = at(row, k-1) + 1
			}
			for y := x - k; x < n && y < m && a[x] == b[y]; y++ {
				x++
			}
			next[k+d+1] = x
			if k == n-m && x >= n {
				return append(trace, next)
			}
		}
		trace = append(trace, next)
		row = next
	}
	return nil
}

// at is the value of a row on a diagonal.
func at(row []int, k int) int { return row[k+len(row)/2] }

// move is a step from one place in both texts to the next.
type move struct{ fromX, fromY, x, y int }

// walk goes back from both ends to the beginning, and returns the steps in their order.
func walk(trace [][]int, x, y int) (moves []move) {
	alike := func(toX int) {
		for ; x > toX; x, y = x-1, y-1 {
			moves = append(moves, move{x - 1, y - 1, x, y})
		}
	}
	for d := len(trace) - 1; d > 0; d-- {
		k, row := x-y, trace[d-1]
		if k == -d || k != d && at(row, k-1) < at(row, k+1) {
			alike(at(row, k+1))
			moves = append(moves, move{x, y - 1, x, y})
			y--
		} else {
			alike(at(row, k-1) + 1)
			moves = append(moves, move{x - 1, y, x, y})
			x--
		}
	}
	alike(0)
	slices.Reverse(moves)
	return moves
}
