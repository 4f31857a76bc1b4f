package codegraph

import (
	"cmp"
	"slices"
)

// Refined says what came of a refinement.
type Refined struct {
	Files int `json:"files"` // that it was taken for
	Stale int `json:"stale"` // that have other content by now, or are not there
}

// Refine takes what somebody who knows better says, for the files that have the content
// that was looked at. It stands until the content changes, or the same source says
// something else of the file; what several sources say of a file is added up.
func (g *Graph) Refine(r Refinement) Refined {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out Refined
	t := g.begin()
	t.see()
	for i := range r.Files {
		f := &r.Files[i]
		at := t.v.fileUnit(f.Path)
		if at < 0 || t.v.unit(at).hash != f.Hash || f.Hash == "" {
			out.Stale++
			continue
		}
		out.Files++
		part := refined{source: r.Source, decls: slices.Clone(f.Decls)}
		if len(r.Kinds) > 0 {
			part.kinds = setOf(r.Kinds)
		}
		for k := range f.Edges {
			e := &f.Edges[k]
			x := refinedEdge{g.refOf(e.From), g.refOf(e.To), numberOfEdge(e.Kind), int32(min(max(e.Line, 0), maxLine))}
			if x.from.kind != noKind && x.to.kind != noKind && x.kind != noEdge {
				part.edges = append(part.edges, x)
			}
		}
		u := t.v.unit(at)
		parts := slices.DeleteFunc(slices.Clone(u.refined), func(p refined) bool { return p.source == part.source })
		t.put(at, g.refineUnit(u, append(parts, part)))
	}
	if len(t.redo) > 0 {
		t.commit()
	}
	return out
}

// refineUnit returns a unit with what is refined of it, and without what was.
func (g *Graph) refineUnit(u *unit, parts []refined) *unit {
	c := *u
	own := len(u.decls)
	for _, p := range u.refined {
		own -= len(p.decls)
	}
	if own < len(u.decls) {
		c.text = u.text[:u.decls[own].text]
	}
	c.decls = slices.Clip(u.decls[:own])
	c.edges, c.extra, c.nodes = nil, nil, nil
	c.refined = slices.SortedFunc(slices.Values(parts), func(a, b refined) int { return cmp.Compare(a.source, b.source) })
	for i := range c.refined {
		g.compactDecls(&c, c.refined[i].decls)
	}
	c.keys = g.keysOf(&c)
	for i := range c.refined {
		c.keys = append(c.keys, g.refinedKeys(c.refined[i].edges)...)
	}
	return &c
}

// refined adds what is refined, and returns of which kinds that is all.
func (r *resolver) refined() (skip edgeSet) {
	there := func(x ref, external bool) int32 {
		i := r.v.byRef(x)
		if i >= 0 && r.v.nodes.at(i).flags&inRepo == 0 && !x.kind.space() && !external {
			return -1
		}
		return i
	}
	for i := range r.u.refined {
		p := &r.u.refined[i]
		skip |= p.kinds
		for k := range p.edges {
			e := &p.edges[k]
			r.add(there(e.from, false), there(e.to, r.standard(e)), e.kind, e.line, false)
		}
	}
	return skip
}
