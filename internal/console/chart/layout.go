package chart

import (
	"cmp"
	"slices"
)

type box struct{ x, y, w, h float64 }

func (b box) overlaps(o box) bool {
	return b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h && o.y < b.y+b.h
}

type point struct{ x, y float64 }

// place is a node with its position. A place without a node keeps a column free for an
// edge that passes through it.
type place struct {
	Node
	box
	column, index int
	pass          bool
	next          []*place // neighbours in the next column to the right
	prev          []*place // neighbours in the next column to the left
	part          float64  // vertical position in its column, from 0 to 1
	pull          float64  // mean position of its neighbours, while a column is sorted
}

// link is an edge with the points of its line.
type link struct {
	Edge
	from, to *place
	passes   []*place // in the columns between, in the order from from to to
	points   []point
	heading  float64 // 1 if its arrow points to the right, else -1
	around   bool    // both ends are in one column; the line runs on its right
	bulge    float64
	heavy    bool
}

// layout is a graph with all positions.
type layout struct {
	given         []Node // the drawn nodes, in the order of the data
	nodes         []*place
	edges         []*link
	root          *place
	columns       [][]*place // including places without a node
	width, height float64
}

// Sizes in the picture.
const (
	nodeWidth  = 180.0
	nodeHeight = 40.0
	nodeGap    = 14.0
	passHeight = 8.0
	columnGap  = 84.0
	margin     = 4.0
)

// layOut computes the positions of a neighbourhood. It is a small layered layout:
// columns by distance, free places for edges that pass a column, and sweeps that sort
// each column by the positions of its neighbours to reduce crossings. The same data
// gives the same positions.
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

// choose keeps the nodes nearest to the root and the edges between them. If there are
// too many edges, it keeps those with the largest weights.
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
	if len(all) > maxNodes {
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
		for _, p := range near[:maxNodes] {
			keep[p] = true
		}
		all = slices.DeleteFunc(all, func(p *place) bool { return !keep[p] })
		l.edges = slices.DeleteFunc(l.edges, func(e *link) bool { return !keep[e.from] || !keep[e.to] })
	}
	if len(l.edges) > maxEdges {
		slices.SortStableFunc(l.edges, func(a, b *link) int { return cmp.Compare(bounded(b.Weight), bounded(a.Weight)) })
		l.edges = l.edges[:maxEdges]
	}
	for _, p := range all {
		l.given = append(l.given, p.Node)
	}
	l.nodes = all
	l.heavy()
}

// heavy marks the edges whose weight is clearly above the smallest one.
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

// columnsOf sets each node's column: its signed distance from the root. A node that is
// reached only over another direction gets the column next to the neighbour through
// which it is reached; a node without edges is below the root.
func (l *layout) columnsOf() {
	if l.root == nil {
		return
	}
	next, prev := map[*place][]*place{}, map[*place][]*place{}
	for _, e := range l.edges {
		next[e.from] = append(next[e.from], e.to)
		prev[e.to] = append(prev[e.to], e.from)
	}
	walk := func(position map[*place][]*place) map[*place]int {
		far := map[*place]int{l.root: 0}
		for queue := []*place{l.root}; len(queue) > 0; queue = queue[1:] {
			for _, p := range position[queue[0]] {
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

// pass adds places for an edge that passes columns, and records neighbours.
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

// sweeps is how often the columns are sorted by their neighbours, once in each
// direction. More sweeps change little.
const sweeps = 6

// order sorts each column to reduce crossings, and keeps the best order found.
func (l *layout) order() {
	l.index()
	best, fewest := l.snapshot(), l.crossings()
	for n := range 2 * sweeps {
		if fewest == 0 {
			break
		}
		l.sweep(n%2 == 0)
		if c := l.crossings(); c < fewest {
			best, fewest = l.snapshot(), c
		}
	}
	l.columns = best
	l.index()
}

// sweep goes through the columns, to the right or to the left, and sorts each by the
// mean position of the neighbours in the previous column. A place without neighbours
// there keeps its position.
func (l *layout) sweep(right bool) {
	for k := range l.columns {
		col := l.columns[k]
		if !right {
			col = l.columns[len(l.columns)-1-k]
		}
		for _, p := range col {
			beside := p.prev
			if !right {
				beside = p.next
			}
			p.pull = p.part
			if len(beside) > 0 {
				p.pull = 0
				for _, o := range beside {
					p.pull += o.part / float64(len(beside))
				}
			}
		}
		slices.SortStableFunc(col, func(a, b *place) int { return cmp.Compare(a.pull, b.pull) })
		reindex(col)
	}
}

func (l *layout) index() {
	for _, col := range l.columns {
		reindex(col)
	}
}

func reindex(col []*place) {
	for i, p := range col {
		p.index = i
		p.part = (float64(i) + .5) / float64(len(col))
	}
}

func (l *layout) snapshot() [][]*place {
	out := make([][]*place, len(l.columns))
	for i, col := range l.columns {
		out[i] = slices.Clone(col)
	}
	return out
}

// crossings counts the crossings of edges between adjacent columns: the inversions of
// their ends, counted with a Fenwick tree.
func (l *layout) crossings() int {
	total := 0
	for k := 0; k+1 < len(l.columns); k++ {
		size := len(l.columns[k+1])
		sums := make([]int, size+1)
		seen := 0
		var ends []int
		for _, p := range l.columns[k] {
			ends = ends[:0]
			for _, o := range p.next {
				ends = append(ends, o.index)
			}
			for _, end := range ends {
				atMost := 0
				for i := end + 1; i > 0; i -= i & -i {
					atMost += sums[i]
				}
				total += seen - atMost
			}
			for _, end := range ends { // edges from one place do not cross
				seen++
				for i := end + 1; i <= size; i += i & -i {
					sums[i]++
				}
			}
		}
	}
	return total
}

// measure sets the rectangle of every place. Columns are centred vertically.
func (l *layout) measure() {
	heights := make([]float64, len(l.columns))
	for k, col := range l.columns {
		for i, p := range col {
			if i > 0 {
				heights[k] += gapBetween(col[i-1], p)
			}
			heights[k] += p.high()
		}
		l.height = max(l.height, heights[k]+2*margin)
	}
	// An edge within a column bulges out on the right of it.
	l.width = float64(max(1, len(l.columns)))*(nodeWidth+columnGap) - columnGap + 2*margin
	for _, e := range l.edges {
		if e.from.column == e.to.column && e.from.column == len(l.columns)-1 {
			l.width = float64(len(l.columns))*(nodeWidth+columnGap) - columnGap/2 + 2*margin
		}
	}
	for k, col := range l.columns {
		y := (l.height - heights[k]) / 2
		for i, p := range col {
			if i > 0 {
				y += gapBetween(col[i-1], p)
			}
			p.box = box{x: margin + float64(k)*(nodeWidth+columnGap), y: y, w: nodeWidth, h: p.high()}
			y += p.high()
		}
	}
	l.nodes = l.nodes[:0:0]
	for _, col := range l.columns {
		for _, p := range col {
			if !p.pass {
				l.nodes = append(l.nodes, p)
			}
		}
	}
	l.height = max(l.height, 1)
}

func (p *place) high() float64 {
	if p.pass {
		return passHeight
	}
	return nodeHeight
}

// gapBetween returns the vertical gap, which is smaller between two passing edges.
func gapBetween(a, b *place) float64 {
	if a.pass && b.pass {
		return 2
	}
	return nodeGap
}

// route computes the points of an edge: from the side of its first box, through its
// passes, to the side of the other. Ends share the height of a side, in the order of
// their other ends.
func (l *layout) route(e *link) {
	e.heading = 1
	from, to := e.from, e.to
	if from.column == to.column {
		e.around, e.heading = true, -1
		lift := 0.0
		if from == to {
			lift = 9
		}
		e.bulge = min(columnGap*.55, 26+6*float64(max(from.index-to.index, to.index-from.index)))
		e.points = []point{{from.x + from.w, from.y + from.h/2 - lift}, {to.x + to.w, to.y + to.h/2 + max(lift, 4)}}
		return
	}
	aim := func(i int) float64 { // height of the i-th stop
		return e.passes[i].y + e.passes[i].h/2
	}
	toY, fromY := to.y+to.h/2, from.y+from.h/2
	if len(e.passes) > 0 {
		toY, fromY = aim(0), aim(len(e.passes)-1)
	}
	start, end := point{from.x + from.w, port(from, toY, l.height)}, point{to.x, port(to, fromY, l.height)}
	if to.column < from.column {
		e.heading = -1
		start.x, end.x = from.x, to.x+to.w
	}
	e.points = append(e.points, start)
	for i, p := range e.passes {
		y := aim(i)
		left, right := point{p.x, y}, point{p.x + p.w, y}
		if e.heading < 0 {
			left, right = right, left
		}
		e.points = append(e.points, left, right)
	}
	e.points = append(e.points, end)
}

// port returns the height at which an edge meets the side of a box. It is higher if the
// edge's other end is higher, so that edges do not all meet in one point.
func port(p *place, other, height float64) float64 {
	mid := p.y + p.h/2
	return mid + max(-1, min(1, 3*(other-mid)/max(1, height)))*(p.h/2-8)
}
