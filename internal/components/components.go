// Package components finds the strongly connected components of a graph: the groups in which each member leads to all others.
package components

import "slices"

// Of groups the numbers below n into strongly connected components, with Tarjan's algorithm. next lists where a number
// leads. A group comes after the groups that it leads to. Groups are sorted. If neither of two groups leads to the other,
// the numbers decide the order.
func Of(n int, next func(int) []int) (groups [][]int) {
	seen, low := make([]int, n), make([]int, n) // seen is the order of the first visit, from 1
	open := make([]bool, n)
	var stack []int
	count := 0
	var visit func(int)
	visit = func(i int) {
		count++
		seen[i], low[i], open[i] = count, count, true
		stack = append(stack, i)
		for _, k := range next(i) {
			if seen[k] == 0 {
				visit(k)
				low[i] = min(low[i], low[k])
			} else if open[k] {
				low[i] = min(low[i], seen[k])
			}
		}
		if low[i] != seen[i] {
			return
		}
		from := len(stack) - 1
		for stack[from] != i {
			from--
		}
		group := slices.Sorted(slices.Values(stack[from:]))
		stack = stack[:from]
		for _, k := range group {
			open[k] = false
		}
		groups = append(groups, group)
	}
	for i := range n {
		if seen[i] == 0 {
			visit(i)
		}
	}
	return groups
}
