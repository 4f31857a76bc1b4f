package diff

import "slices"

// maxEdits is the largest number of removed and added words. With more of them, two
// texts have too little in common for a comparison to be useful. The search keeps a row
// for each edit, so this also limits its memory, to eight megabytes.
const maxEdits = 1000

// between adds the changes between two lists of words without a common beginning or
// end, with as few edits as possible: Myers, "An O(ND) Difference Algorithm and Its
// Variations" (1986).
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
	for _, e := range backtrack(trace, len(a), len(b)) {
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
// diagonal; the last row reaches both ends. It returns nil if that takes more than
// mostEdits.
func search(a, b []string) (trace [][]int) {
	n, m := len(a), len(b)
	row := []int{0, 0, 0} // diagonals -1, 0 and 1
	for d := 0; d <= min(n+m, maxEdits); d++ {
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

// at returns the value of a row on diagonal k.
func at(row []int, k int) int { return row[k+len(row)/2] }

// move is a step from one position in both texts to the next.
type move struct{ fromX, fromY, x, y int }

// backtrack follows the trace back from both ends to the beginning, and returns the steps in
// forward order.
func backtrack(trace [][]int, x, y int) (moves []move) {
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
