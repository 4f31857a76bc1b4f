// Package spelling compares names that users type, to suggest the one that they meant.
package spelling

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Nearest returns the name that was probably meant, or "": at most one letter in three differs. Of
// equally similar names it returns the one with the longest common prefix.
func Nearest(given string, names []string) (best string) {
	const longest = 64
	if len(given) > longest {
		return ""
	}
	least, common := max(1, len(given)/3)+1, 0
	for _, n := range slices.Sorted(slices.Values(names)) {
		if more := utf8.RuneCountInString(n) - utf8.RuneCountInString(given); max(more, -more) > least {
			continue // the distance is not smaller than this difference
		}
		d, prefix := Distance(given, n), 0
		for prefix < min(len(given), len(n)) && given[prefix] == n[prefix] {
			prefix++
		}
		if d < least || d == least && best != "" && prefix > common {
			best, least, common = n, d, prefix
		}
	}
	return best
}

// Distance returns the number of letters to insert, delete, replace or swap with their
// neighbour to get from a to b (optimal string alignment), ignoring case.
func Distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			change := 1
			if x[i] == y[j] {
				change = 0
			}
			row[j+1] = min(prev[j]+change, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(y)]
}
