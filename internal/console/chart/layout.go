package chart

import (
	"cmp"
	"slices"
)

// box is a rectangle in the picture.
type box struct{ x, y, w, h float64 }

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

type point struct{ x, y float64 }

// place is a node and where it stands. Where an edge passes a column, a place without a
// node keeps a way free for it.
type place struct {
	Node
	box
	column, index int
	pass          bool
	next          []*place // neighbours one column to the right
	prev          []*place // and to the left
	part          float64  // how far down its column it stands, from 0 to 1
	pull          float64  // where its neighbours stand, while a column is sorted
}

// link is an edge and the points that it passes.
type link struct {
	Edge
	from, to *place
	passes   []*place // in the columns between, from from to to
	points   []point
	heading  float64 // 1 when its head points to the right, else -1
	around   bool    // it stays in one column, and leaves it on the right
	bulge    float64
	heavy    bool
}

// layout is a graph laid out.
type layout struct {
	given         []Node // those drawn, in the order of the data
	nodes         []*place
	edges         []*link
	root          *place
	columns       [][]*place // passes as well
	width, height float64
}

// Measures of the picture.
const (
	nodeWidth  = 180.0
	nodeHeight = 40.0
	nodeGap    = 14.0
	passHeight = 8.0
	columnGap  = 84.0
	margin     = 4.0
)

// layOut places a neighbourhood. It is a small layered layout: columns by distance,
// free ways for edges that pass a column, and sweeps that order each column by where
// its neighbours are, which lessens crossings. The same data gives the same places.
func layOut(d GraphData) *layout {
	l := &layout{}
	l.choose(d)
	l.columnsOf()
	l.order()
	l.measure()
	for _, e := range l.edges {
		l.route(e)
	}
	return l
}

// choose keeps the nodes nearest to the root and the edges between them, the weightiest
// if there are too many.
func (l *layout) choose(d GraphData) {
	byID := map[string]*place{}
	var all []*place
	for _, n := range d.Nodes {
		if byID[n.ID] != nil {
			continue
		}
		p := &place{Node: n}
		byID[n.ID] = p
		all = append(all, p)
		if n.Root && l.root == nil {
			l.root = p
		}
	}
	if len(all) == 0 {
		return
	}
	if l.root == nil {
		l.root = all[0]
	}
	beside := map[*place][]*place{}
	for _, e := range d.Edges {
		from, to := byID[e.From], byID[e.To]
		if from != nil && to != nil {
			l.edges = append(l.edges, &link{Edge: e, from: from, to: to})
			beside[from], beside[to] = append(beside[from], to), append(beside[to], from)
		}
	}
	if len(all) > mostNodes {
		far := map[*place]int{l.root: 1}
		for queue := []*place{l.root}; len(queue) > 0; queue = queue[1:] {
			for _, p := range beside[queue[0]] {
				if far[p] == 0 {
					far[p] = far[queue[0]] + 1
					queue = append(queue, p)
				}
			}
		}
		distance := func(p *place) int {
			if far[p] == 0 {
				return len(all) + 2
			}
			return far[p]
		}
		near := slices.Clone(all)
		slices.SortStableFunc(near, func(a, b *place) int { return cmp.Compare(distance(a), distance(b)) })
		keep := map[*place]bool{}
		for _, p := range near[:mostNodes] {
			keep[p] = true
		}
		all = slices.DeleteFunc(all, func(p *place) bool { return !keep[p] })
		l.edges = slices.DeleteFunc(l.edges, func(e *link) bool { return !keep[e.from] || !keep[e.to] })
	}
	if len(l.edges) > mostEdges {
		slices.SortStableFunc(l.edges, func(a, b *link) int { return cmp.Compare(bounded(b.Weight), bounded(a.Weight)) })
		l.edges = l.edges[:mostEdges]
	}
	for _, p := range all {
		l.given = append(l.given, p.Node)
	}
	l.nodes = all
	l.heavy()
}

// heavy marks the edges that weigh clearly more than the lightest, if weights differ.
func (l *layout) heavy() {
	low, high := 0.0, 0.0
	for i, e := range l.edges {
		w := bounded(e.Weight)
		if i == 0 {
			low, high = w, w
		}
		low, high = min(low, w), max(high, w)
	}
	for _, e := range l.edges {
		e.heavy = high > low && bounded(e.Weight)-low > (high-low)*.66
	}
}

// columnsOf gives each node its column: its signed distance from the root. A node that
// neither depends on the root nor is depended on takes the column beside the neighbour
// through which it is found; one without any edge stands below the root.
func (l *layout) columnsOf() {
	if l.root == nil {
		return
	}
	next, prev := map[*place][]*place{}, map[*place][]*place{}
	for _, e := range l.edges {
		next[e.from] = append(next[e.from], e.to)
		prev[e.to] = append(prev[e.to], e.from)
	}
	walk := func(along map[*place][]*place) map[*place]int {
		far := map[*place]int{l.root: 0}
		for queue := []*place{l.root}; len(queue) > 0; queue = queue[1:] {
			for _, p := range along[queue[0]] {
				if _, seen := far[p]; !seen {
					far[p] = far[queue[0]] + 1
					queue = append(queue, p)
				}
			}
		}
		return far
	}
	down, up := walk(next), walk(prev)
	placed := map[*place]bool{}
	var queue []*place
	for _, p := range l.nodes {
		right, isRight := down[p]
		left, isLeft := up[p]
		switch {
		case isRight && (!isLeft || right <= left):
			p.column = right
		case isLeft:
			p.column = -left
		default:
			continue
		}
		placed[p] = true
		queue = append(queue, p)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		p := queue[0]
		for _, side := range []struct {
			list []*place
			step int
		}{{next[p], 1}, {prev[p], -1}} {
			for _, o := range side.list {
				if !placed[o] {
					o.column, placed[o] = p.column+side.step, true
					queue = append(queue, o)
				}
			}
		}
	}
	first, last := 0, 0
	for _, p := range l.nodes {
		first, last = min(first, p.column), max(last, p.column)
	}
	l.columns = make([][]*place, last-first+1)
	for _, p := range l.nodes {
		p.column -= first
		l.columns[p.column] = append(l.columns[p.column], p)
	}
	for _, e := range l.edges {
		l.pass(e)
	}
}

// pass keeps ways free where an edge passes columns, and notes who is whose neighbour.
func (l *layout) pass(e *link) {
	at, step := e.from, 1
	if e.to.column < e.from.column {
		step = -1
	}
	for c := e.from.column + step; c*step <= e.to.column*step && e.from.column != e.to.column; c += step {
		to := e.to
		if c != e.to.column {
			to = &place{column: c, pass: true}
			l.columns[c] = append(l.columns[c], to)
			e.passes = append(e.passes, to)
		}
		left, right := at, to
		if step < 0 {
			left, right = to, at
		}
		left.next, right.prev = append(left.next, right), append(right.prev, left)
		at = to
	}
}
