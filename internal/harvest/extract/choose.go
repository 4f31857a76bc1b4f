package extract

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// How candidates are chosen: each next one is that which adds most to those that
// are chosen already.
const (
	termWorth  = 0.5  // of a term that no chosen candidate has
	knownTerm  = 0.25 // of that, for one that has been said
	mostTerms  = 10.0 // of new terms count, by weight
	alike      = 0.4  // of what it is worth by itself is left to one that brings nothing new
	sameShare  = 0.8  // of the shorter one's terms: from here on, two say the same
	postingMax = 64   // chosen candidates that are looked at for a term
)

// choose picks at most max candidates, and returns them best first.
func choose(all []candidate, max int, drop dropped) []candidate {
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.from.entry.Seq, b.from.entry.Seq) })
	for i := range all {
		all[i].order = i
	}
	p := picker{known: map[string][]int{}}
	queue := make(queue, len(all))
	for i := range all {
		queue[i] = ranked{&all[i], p.gain(&all[i]), 0}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		best := &queue[0]
		if best.at != len(p.chosen) { // what was chosen since may have made it worth less
			best.gain, best.at = p.gain(best.c), len(p.chosen)
			heap.Fix(&queue, 0)
			continue
		}
		c := best.c
		heap.Pop(&queue)
		switch {
		case p.said(c):
			drop[reasonDuplicate]++
		case len(p.chosen) >= max:
			drop[reasonLimit]++
		default:
			p.take(c)
		}
	}
	return p.chosen
}

type picker struct {
	chosen []candidate
	known  map[string][]int // term to the chosen ones that have it
}

// gain is what a candidate would add.
func (p *picker) gain(c *candidate) float64 {
	sum, all := 0.0, 0.0
	for i, t := range c.terms {
		all += c.weight[i]
		if p.known[t] != nil {
			sum += knownTerm * c.weight[i]
		} else {
			sum += c.weight[i]
		}
	}
	own := c.own
	if own > 0 && all > 0 { // the tenth decision in the same words is worth less
		own *= alike + (1-alike)*sum/all
	}
	return own + termWorth*math.Min(sum, mostTerms)
}

// worth is what a candidate adds to nothing.
func (k *candidate) worth() float64 { return (&picker{}).gain(k) }

func (p *picker) take(c *candidate) {
	for _, t := range c.terms {
		if len(p.known[t]) < postingMax {
			p.known[t] = append(p.known[t], len(p.chosen))
		}
	}
	p.chosen = append(p.chosen, *c)
}

// said reports whether a chosen candidate says the same: nearly the same words,
// with the same numbers and the same negation.
func (p *picker) said(c *candidate) bool {
	shared := map[int]int{}
	for _, t := range c.terms {
		for _, i := range p.known[t] {
			shared[i]++
		}
	}
	for i, n := range shared {
		o := &p.chosen[i]
		if float64(n) >= sameShare*float64(min(len(c.terms), len(o.terms))) && o.from.name == c.from.name && equalFigures(c, o) {
			return true
		}
	}
	return false
}

// equalFigures reports whether two candidates have the same numbers and are both
// negated or both not.
func equalFigures(a, b *candidate) bool { return slices.Equal(a.figures, b.figures) }

// figures are the terms that tell two similar sentences apart, sorted.
func figures(terms []string) []string {
	var out []string
	for _, t := range terms {
		if t == "not" || t == "no" || t == "never" {
			t = "not"
		} else if !numbered(t) {
			continue
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// queue is the candidates by what they would add, the most first.
type queue []ranked

type ranked struct {
	c    *candidate
	gain float64
	at   int // chosen ones when gain was found
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].gain != q[j].gain {
		return q[i].gain > q[j].gain
	}
	return q[i].c.order < q[j].c.order
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push is heap's; nothing is ever added.
func (q *queue) Push(any) {}

// Pop is heap's.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
