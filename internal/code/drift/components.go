package drift

import "slices"

// components groups the numbers below n into strongly connected components, with Tarjan's algorithm and without
// recursion. A group comes after the groups that it leads to. Groups are sorted. If neither of two groups leads to the
// other, the numbers decide the order.
func components(n int, next func(int) []int) (groups [][]int) {
	c := tarjan{next: next, seen: make([]int, n), low: make([]int, n), open: make([]bool, n)}
	for i := range n {
		if c.seen[i] == 0 {
			c.visit(i)
		}
	}
	return c.groups
}

type tarjan struct {
	next   func(int) []int
	seen   []int // order of the first visit, from 1
	low    []int
	open   []bool
	stack  []int
	count  int
	groups [][]int
}

// visitFrame is a number on the path of the search, with its successors and how many of them are done.
type visitFrame struct {
	at   int
	to   []int
	done int
}

func (c *tarjan) enter(i int) visitFrame {
	c.count++
	c.seen[i], c.low[i], c.open[i] = c.count, c.count, true
	c.stack = append(c.stack, i)
	return visitFrame{at: i, to: c.next(i)}
}

func (c *tarjan) visit(i int) {
	way := []visitFrame{c.enter(i)}
	for len(way) > 0 {
		f := &way[len(way)-1]
		if f.done < len(f.to) {
			k := f.to[f.done]
			f.done++
			if c.seen[k] == 0 {
				way = append(way, c.enter(k))
			} else if c.open[k] {
				c.low[f.at] = min(c.low[f.at], c.seen[k])
			}
			continue
		}
		at := f.at
		way = way[:len(way)-1]
		if len(way) > 0 {
			up := way[len(way)-1].at
			c.low[up] = min(c.low[up], c.low[at])
		}
		if c.low[at] == c.seen[at] {
			c.close(at)
		}
	}
}

// close removes a complete group from the stack.
func (c *tarjan) close(first int) {
	from := len(c.stack) - 1
	for c.stack[from] != first {
		from--
	}
	group := slices.Sorted(slices.Values(c.stack[from:]))
	c.stack = c.stack[:from]
	for _, i := range group {
		c.open[i] = false
	}
	c.groups = append(c.groups, group)
}
