package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
)

// What a picture of a graph draws at most. The nodes nearest to the root stay.
const (
	mostNodes = 60
	mostEdges = 200
	mostNamed = 40 // edges whose labels are written; of more, only tooltips say them
)

// Node is a thing in a graph.
type Node struct {
	ID    string // what edges name; unique
	Label string
	Kind  string // gives the colour and stands below the label
	Href  string // a path of this site; "" for no link
	Count int    // what is known about it, such as claims; 0 is not shown
	Root  bool   // where the reader is; the first that says so counts
	Info  string // said in the tooltip
}

// Edge says that one node depends on another. Edges to nodes that are not there are
// left out.
type Edge struct {
	From, To string // IDs
	Label    string // how; shown where there is room
	Weight   float64
	Dashed   bool // a guess
}

// GraphData is a neighbourhood.
type GraphData struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Graph draws a neighbourhood in columns: the root in the middle, what it depends on to
// the right, what depends on it to the left, each step one column further. An edge that
// leads back the other way is drawn so, and its arrow says it. The keyboard walks
// the nodes by column, from the top.
func Graph(d GraphData) template.HTML {
	l := layOut(d)
	links := slices.ContainsFunc(l.nodes, func(n *place) bool { return local(n.Href) })
	f := figure{kind: "chart-graph", title: d.Title, links: links,
		desc: fmt.Sprintf("%s, %s", plural(len(d.Nodes), "node", "nodes"), plural(len(d.Edges), "edge", "edges"))}
	if nodes, edges := len(d.Nodes)-len(l.nodes), len(d.Edges)-len(l.edges); nodes > 0 || edges > 0 {
		f.note = fmt.Sprintf("Not drawn: %s, %s.", plural(nodes, "node", "nodes"), plural(edges, "edge", "edges"))
	}
	out := &canvas{}
	out.put(`<figure class="chart %v">`, f.kind)
	if f.title != "" {
		out.put(`<figcaption>%v</figcaption>`, f.title)
	}
	out.put(`<div class="scroll">`)
	class := raw("drawn")
	if len(l.edges) > mostNamed {
		class = "drawn crowded"
	}
	f.svg(out, class, l.width, func(c *canvas, _ float64) float64 {
		var taken []box
		for _, n := range l.nodes {
			taken = append(taken, n.box)
		}
		for _, e := range l.edges {
			l.edge(c, e)
		}
		for _, e := range l.edges {
			taken = l.name(c, e, taken)
		}
		kinds := l.kinds()
		for _, n := range l.nodes {
			l.node(c, n, kinds)
		}
		return l.height
	})
	out.put(`</div>`)
	return f.end(out)
}

// kinds are those of the drawn nodes, in the order of the data so that a colour stays
// when a layout changes.
func (l *layout) kinds() (kinds []string) {
	for _, n := range l.given {
		if n.Kind != "" && !slices.Contains(kinds, n.Kind) {
			kinds = append(kinds, n.Kind)
		}
	}
	return kinds
}

// node draws a box with a stripe in its kind's colour.
func (l *layout) node(c *canvas, n *place, kinds []string) {
	tone, class := raw("c-muted"), raw("box")
	if k := slices.Index(kinds, n.Kind); k >= 0 {
		tone = Tone("").class(k)
	}
	label := raw("label name")
	if n == l.root {
		class, label = "box root", "label name strong"
	}
	below := n.Kind
	if n.Count != 0 {
		below = tip2(below, strconv.Itoa(n.Count))
	}
	closing := c.open(n.Href, tip(n.Label, below, n.Info), tone)
	c.rect(n.x, n.y, n.w, n.h, 5, class)
	c.rect(n.x+4, n.y+5, 4, n.h-10, 2, "area")
	room := n.w - 22
	if n == l.root {
		room /= 1.08 // bold letters are wider
	}
	if below == "" {
		c.text(n.x+14, n.y+n.h/2+4, "start", label, n.Label, room)
	} else {
		c.text(n.x+14, n.y+16, "start", label, n.Label, room)
		c.text(n.x+14, n.y+31, "start", "soft", below, n.w-22)
	}
	c.put(`%v`, closing)
}

// tip2 joins what is known with a dot between.
func tip2(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " · " + b
}

// edge draws a curve through the places kept free for it, with an arrow's head.
func (l *layout) edge(c *canvas, e *link) {
	class := raw("line thin")
	if e.Dashed {
		class = "line thin dash"
	}
	if e.heavy {
		class += " heavy"
	}
	c.put(`<g><title>%v</title>`, e.says())
	path := &canvas{}
	last := e.points[len(e.points)-1]
	end := point{last.x - 7*e.heading, last.y} // the line ends where the head begins
	path.put("M%v %v", e.points[0].x, e.points[0].y)
	for k := 1; k < len(e.points); k++ {
		p, q := e.points[k-1], e.points[k]
		if k == len(e.points)-1 {
			q = end
		}
		if e.around {
			path.put("C%v %v %v %v %v %v", p.x+e.bulge, p.y, last.x+e.bulge, last.y, q.x, q.y)
			continue
		}
		bend := (q.x - p.x) * .5
		path.put("C%v %v %v %v %v %v", p.x+bend, p.y, q.x-bend, q.y, q.x, q.y)
	}
	c.put(`<path class="%v" d="%v"/>`, class, path.raw())
	c.put(`<polygon class="head" points="%v,%v %v,%v %v,%v"/></g>`, last.x, last.y, last.x-8*e.heading, last.y-4, last.x-8*e.heading, last.y+4)
}

// says is an edge in words.
func (e *link) says() string {
	s := clean(e.from.Label) + " → " + clean(e.to.Label)
	if e.Label != "" {
		s += ": " + clean(e.Label)
	}
	if e.Weight != 0 && !math.IsNaN(e.Weight) {
		s += ", weight " + number(e.Weight)
	}
	if e.Dashed {
		s += " (a guess)"
	}
	return s
}

// name writes an edge's label beside its middle, unless it would lie on something. It
// returns what is taken now.
func (l *layout) name(c *canvas, e *link, taken []box) []box {
	if e.Label == "" || e.around || len(l.edges) > mostNamed {
		return taken
	}
	short := cut(clean(e.Label), columnGap-20, small)
	k := len(e.points) / 2
	p, q := e.points[k-1], e.points[k]
	w := widthOf(short, small)
	at := box{x: (p.x+q.x)/2 - w/2, y: (p.y+q.y)/2 - 8, w: w, h: 15}
	if at.x < 0 || at.x+at.w > l.width || slices.ContainsFunc(taken, at.overlaps) {
		return taken
	}
	c.text(at.x+w/2, at.y+12, "middle", "soft halo", e.Label, columnGap-20)
	return append(taken, at)
}

// Table is the data to read: all edges, those that are not drawn as well.
func (d GraphData) Table() template.HTML {
	labels := map[string]string{}
	for _, n := range d.Nodes {
		labels[n.ID] = n.Label
	}
	var rows [][]string
	for _, e := range d.Edges {
		from, ok := labels[e.From]
		to, ok2 := labels[e.To]
		if !ok || !ok2 {
			continue
		}
		sure := "yes"
		if e.Dashed {
			sure = "a guess"
		}
		rows = append(rows, []string{from, e.Label, to, sure, number(e.Weight)})
	}
	return table(d.Title, 3, []string{"from", "how", "to", "known", "weight"}, rows)
}

// mostDeep is how far the list follows edges from the root.
const mostDeep = 4

// GraphList writes a neighbourhood as nested lists of links: what the root depends on,
// what depends on it, and what is there besides. A node is unfolded where it is met
// first, so that cycles end. It is for screen readers and small screens.
func GraphList(d GraphData) template.HTML {
	l := &layout{}
	l.choose(d)
	if l.root == nil {
		return ""
	}
	w := &lister{seen: map[*place]bool{l.root: true}}
	w.c.put(`<div class="chart-list"><p>`)
	w.item(l.root, nil)
	w.c.put(`</p><ul>`)
	for _, side := range []struct {
		says string
		step func(*place) []step
	}{{"depends on", l.out}, {"is depended on by", l.in}} {
		if steps := side.step(l.root); len(steps) > 0 {
			w.c.put(`<li>%v`, side.says)
			w.list(steps, side.step, 1)
			w.c.put(`</li>`)
		}
	}
	var rest []step
	for _, p := range l.nodes {
		if !w.seen[p] {
			rest = append(rest, step{to: p})
		}
	}
	if len(rest) > 0 {
		w.c.put(`<li>also near`)
		w.list(rest, func(*place) []step { return nil }, mostDeep)
		w.c.put(`</li>`)
	}
	w.c.put(`</ul>`)
	if n := len(d.Nodes) - len(l.nodes); n > 0 {
		w.c.put(`<p><small>%v more</small></p>`, plural(n, "node", "nodes"))
	}
	w.c.put(`</div>`)
	return template.HTML(w.c.b.String())
}

// step is an edge followed in one direction.
type step struct {
	to   *place
	edge *link
}

func (l *layout) out(p *place) (steps []step) {
	for _, e := range l.edges {
		if e.from == p && e.to != p {
			steps = append(steps, step{e.to, e})
		}
	}
	return steps
}

func (l *layout) in(p *place) (steps []step) {
	for _, e := range l.edges {
		if e.to == p && e.from != p {
			steps = append(steps, step{e.from, e})
		}
	}
	return steps
}

type lister struct {
	c    canvas
	seen map[*place]bool // those that are unfolded already
}

func (w *lister) list(steps []step, next func(*place) []step, depth int) {
	w.c.put(`<ul>`)
	// All of a level are met before any of the next, so that a node stands by its
	// shortest way.
	fresh := make([]bool, len(steps))
	for i, s := range steps {
		fresh[i] = !w.seen[s.to]
		w.seen[s.to] = true
	}
	for i, s := range steps {
		w.c.put(`<li>`)
		w.item(s.to, s.edge)
		if fresh[i] && depth < mostDeep {
			if further := slices.DeleteFunc(next(s.to), func(n step) bool { return w.seen[n.to] }); len(further) > 0 {
				w.list(further, next, depth+1)
			}
		}
		w.c.put(`</li>`)
	}
	w.c.put(`</ul>`)
}

// item writes a node and, behind it, how it is reached.
func (w *lister) item(p *place, e *link) {
	name, short := clean(p.Label), cut(clean(p.Label), 400, large)
	tag, attr := raw("span"), raw("")
	if local(p.Href) {
		c := &canvas{}
		c.put(` href="%v"`, p.Href)
		tag, attr = "a", c.raw()
	}
	if short != name {
		c := &canvas{}
		c.put(` title="%v"`, name)
		attr += c.raw()
	}
	w.c.put(`<%v%v>%v</%v>`, tag, attr, short, tag)
	below := p.Kind
	if p.Count != 0 {
		below = tip2(below, strconv.Itoa(p.Count))
	}
	if e != nil {
		below = tip2(below, e.Label)
		if e.Dashed {
			below = tip2(below, "a guess")
		}
	}
	if below = cut(clean(below), 400, small); below != "" {
		w.c.put(` <small>%v</small>`, below)
	}
}

// sweeps is how often the columns are sorted by their neighbours, once in each
// direction. More change little.
const sweeps = 6

// order sorts each column so that edges cross little, and keeps the best order seen.
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
// mean place of the neighbours in the column before. Who has none stays where it is.
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

// crossings counts how often edges between neighbouring columns cross: the inversions
// of their ends, counted with a tree of sums.
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

// measure gives every place its rectangle. Columns stand in the middle of the height.
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
	// An edge that stays in its column bulges out to the right of it.
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

// gapBetween is less where edges pass beside one another.
func gapBetween(a, b *place) float64 {
	if a.pass && b.pass {
		return 2
	}
	return nodeGap
}

// route finds the points of an edge: from a side of its first box, through its free
// ways, to a side of the other. Ends share a side's height in the order of where
// they come from.
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
	aim := func(i int) float64 { // the height of the i-th stop between
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

// port is where an edge meets the side of a box: higher if its other end is higher, so
// that the edges of one side do not all meet in one point.
func port(p *place, other, height float64) float64 {
	mid := p.y + p.h/2
	return mid + max(-1, min(1, 3*(other-mid)/max(1, height)))*(p.h/2-8)
}
