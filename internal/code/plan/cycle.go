package plan

import (
	"fmt"
	"slices"
	"strings"
)

// findCycles reports one cycle of each knot of agents that wait for one another: the
// shortest through the knot's first agent. Agents that wait for themselves have been
// reported.
func (d *draft) findCycles() {
	if _, cyclic := d.layers(); !cyclic {
		return
	}
	for _, knot := range d.knots() {
		d.reportCycle(d.shortest(knot))
	}
}

// reportCycle tells who makes what for whom, from the first edge on. Each edge leads to
// the next agent; the last one leads back to where the first one starts.
func (d *draft) reportCycle(cycle []edge) {
	last := cycle[len(cycle)-1]
	from := last.to
	names, how := d.agents[from].Name, make([]string, len(cycle))
	for i, e := range cycle {
		names += " → " + d.agents[e.to].Name
		how[i] = fmt.Sprintf("%s makes %s for %s", d.agents[from].Name, e.token, d.agents[e.to].Name)
		from = e.to
	}
	d.fault(last.to, fmt.Sprintf("requires[%d]", last.number), "a cycle: "+names+" ("+strings.Join(how, ", ")+")",
		"Take one of these tokens out of what its agent requires.")
}

// shortest returns a shortest cycle from the first agent of a knot back to it.
func (d *draft) shortest(knot []int) []edge {
	in := make(map[int]bool, len(knot))
	for _, i := range knot {
		in[i] = true
	}
	start := knot[0]
	came := map[int]step{} // how each was reached
	for queue := []int{start}; ; queue = queue[1:] {
		at := queue[0]
		for _, e := range d.then[at] {
			if e.to == start {
				cycle := []edge{e}
				for at != start {
					cycle = append(cycle, came[at].by)
					at = came[at].from
				}
				slices.Reverse(cycle)
				return cycle
			}
			if _, seen := came[e.to]; !seen && in[e.to] {
				came[e.to] = step{at, e}
				queue = append(queue, e.to)
			}
		}
	}
}

type step struct {
	from int
	by   edge
}

// knots returns the groups of two and more agents that each wait for all others of
// their group (strongly connected components, by Tarjan's algorithm), each in the
// order of the agents, by their first one.
func (d *draft) knots() (all [][]int) {
	n := len(d.agents)
	number, low := make([]int, n), make([]int, n) // from 1
	open := make([]bool, n)
	var stack []int
	count := 0
	var visit func(int)
	visit = func(i int) {
		count++
		number[i], low[i] = count, count
		stack = append(stack, i)
		open[i] = true
		for _, e := range d.then[i] {
			if number[e.to] == 0 {
				visit(e.to)
				low[i] = min(low[i], low[e.to])
			} else if open[e.to] {
				low[i] = min(low[i], number[e.to])
			}
		}
		if low[i] != number[i] {
			return
		}
		from := len(stack) - 1
		for stack[from] != i {
			from--
		}
		knot := slices.Clone(stack[from:])
		stack = stack[:from]
		for _, k := range knot {
			open[k] = false
		}
		if len(knot) > 1 {
			slices.Sort(knot)
			all = append(all, knot)
		}
	}
	for i := range n {
		if number[i] == 0 {
			visit(i)
		}
	}
	slices.SortFunc(all, func(a, b []int) int { return a[0] - b[0] })
	return all
}
