package plan

import "slices"

// plan puts agents without faults into stages: each into the first in which all that it
// needs is made.
func (d *draft) plan() *Plan {
	stage, _ := d.layers()
	p := &Plan{at: make(map[string]int, len(d.agents))}
	for i, a := range d.agents {
		s := Step{Agent: a, Index: i, Stage: stage[i]}
		for _, t := range a.Requires {
			n := Need{Token: t}
			if by, ok := d.from[i][t]; ok {
				n.From = d.agents[by].Name
			}
			s.Needs = append(s.Needs, n)
		}
		p.steps = append(p.steps, s)
	}
	slices.SortStableFunc(p.steps, func(a, b Step) int { return a.Stage - b.Stage })
	for i, s := range p.steps {
		p.at[s.Agent.Name] = i
	}
	return p
}

// layers returns the stage of each agent, 0 for those in a cycle and behind one, and
// whether there are such.
func (d *draft) layers() (stage []int, cyclic bool) {
	stage = make([]int, len(d.agents))
	waits := make([]int, len(d.agents))
	for _, next := range d.then {
		for _, e := range next {
			waits[e.to]++
		}
	}
	var now, after []int
	for i, n := range waits {
		if n == 0 {
			now = append(now, i)
		}
	}
	placed := 0
	for at := 1; len(now) > 0; at++ {
		after = after[:0]
		for _, i := range now {
			stage[i] = at
			placed++
			for _, e := range d.then[i] {
				if waits[e.to]--; waits[e.to] == 0 {
					after = append(after, e.to)
				}
			}
		}
		now, after = after, now
	}
	return stage, placed < len(d.agents)
}
