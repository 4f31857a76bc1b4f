package chart

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
)

// Limits of a picture of a graph. The nodes nearest to the root are kept.
const (
	maxNodes  = 60
	maxEdges  = 200
	maxLabels = 40 // edges with a written label; if there are more, only tooltips have the labels
)

// Node is a node of a graph.
type Node struct {
	ID    string // unique; edges refer to it
	Label string
	Kind  string // sets the colour; shown below the label
	Href  string // a path of this site; "" for no link
	Count int    // number of records about it, such as claims; 0 is not shown
	Root  bool   // the current node; the first one with Root counts
	Info  string // shown in the tooltip
}

// Edge says that one node depends on another. An edge to an unknown node is ignored.
type Edge struct {
	From, To string // IDs
	Label    string // shown if there is room
	Weight   float64
	Dashed   bool // for a guess
}

// GraphData is a neighbourhood.
type GraphData struct {
	Title string
	Nodes []Node
	Edges []Edge
}

// Graph draws a neighbourhood in columns: the root in the middle, what it depends on to
// the right, what depends on it to the left, each step one column further. An edge in
// the opposite direction is drawn to the left, with its arrow. The tab key visits the
// nodes by column, from the top.
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
	if len(l.edges) > maxLabels {
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

// kinds returns the kinds of the drawn nodes in the order of the data, so that colours
// stay when the layout changes.
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
		below = joinTips(below, strconv.Itoa(n.Count))
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

// joinTips joins two parts of a tooltip with a dot.
func joinTips(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " · " + b
}

// edge draws a curve through the edge's passes, with an arrowhead.
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
	end := point{last.x - 7*e.heading, last.y} // the line ends where the arrowhead begins
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

// says describes an edge in words.
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

// name writes an edge's label beside its middle, unless it would overlap a box in
// taken. It returns taken with the label's box.
func (l *layout) name(c *canvas, e *link, taken []box) []box {
	if e.Label == "" || e.around || len(l.edges) > maxLabels {
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

// maxDepth is the depth to which GraphList follows edges from the root.
const maxDepth = 4

// GraphList writes a neighbourhood as nested lists of links: what the root depends on,
// what depends on it, and the other nodes. A node is expanded only where it occurs
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
		w.list(rest, func(*place) []step { return nil }, maxDepth)
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
	seen map[*place]bool // nodes that were expanded already
}

func (w *lister) list(steps []step, next func(*place) []step, depth int) {
	w.c.put(`<ul>`)
	// Visit all nodes of a level before the next level, so that a node is expanded on
	// its shortest path.
	fresh := make([]bool, len(steps))
	for i, s := range steps {
		fresh[i] = !w.seen[s.to]
		w.seen[s.to] = true
	}
	for i, s := range steps {
		w.c.put(`<li>`)
		w.item(s.to, s.edge)
		if fresh[i] && depth < maxDepth {
			if further := slices.DeleteFunc(next(s.to), func(n step) bool { return w.seen[n.to] }); len(further) > 0 {
				w.list(further, next, depth+1)
			}
		}
		w.c.put(`</li>`)
	}
	w.c.put(`</ul>`)
}

// item writes a node and how it is reached.
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
		below = joinTips(below, strconv.Itoa(p.Count))
	}
	if e != nil {
		below = joinTips(below, e.Label)
		if e.Dashed {
			below = joinTips(below, "a guess")
		}
	}
	if below = cut(clean(below), 400, small); below != "" {
		w.c.put(` <small>%v</small>`, below)
	}
}
