package chart

import (
	"html/template"
	"slices"
	"strconv"
)

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
