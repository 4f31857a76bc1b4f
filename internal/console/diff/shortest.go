package diff

import "slices"

// maxEdits is the largest number of removed and added words or lines. With more of them, two
// texts have too little in common for a comparison to be useful. The search keeps a row
// for each edit, so this also limits its memory, to eight megabytes.
const maxEdits = 1000

// search finds the fewest edits that turn a into b: Myers, "An O(ND) Difference Algorithm
// and Its Variations" (1986). For each number of edits it returns how far along a one can
// get on each diagonal; the last row reaches both ends. It returns nil if that takes more
// than maxEdits.
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

// backtrack follows the trace back from both ends to the beginning, and returns the pieces
// in forward order.
func backtrack(trace [][]int, a, b []string) (out []Piece) {
	x, y := len(a), len(b)
	alike := func(toX int) {
		for ; x > toX; x, y = x-1, y-1 {
			out = append(out, Piece{Same, a[x-1]})
		}
	}
	for d := len(trace) - 1; d > 0; d-- {
		k, row := x-y, trace[d-1]
		if k == -d || k != d && at(row, k-1) < at(row, k+1) {
			alike(at(row, k+1))
			y--
			out = append(out, Piece{New, b[y]})
		} else {
			alike(at(row, k-1) + 1)
			x--
			out = append(out, Piece{Gone, a[x]})
		}
	}
	alike(0)
	slices.Reverse(out)
	return out
}
