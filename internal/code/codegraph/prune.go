package codegraph

import (
	"bytes"
	"slices"
)

// Pruned lists what goes, or would go.
type Pruned struct {
	Files     []string `json:"files"`     // paths that are no more
	Decisions []string `json:"decisions"` // IDs of those whose files are no more
	Nodes     []string `json:"nodes"`     // IDs that nothing else declares, those of the files and decisions included
	External  []string `json:"external"`  // IDs of packages that nothing else imports, and of interfaces that nothing else implements
}

// Prune finds the files and decisions in the graph whose files exist no longer, and what
// goes with them, by ID and path; with apply, it takes them out, and gives back the
// memory that texts take which nothing uses any more. Decisions without a path stay.
func (g *Graph) Prune(exists func(path string) bool, apply bool) Pruned {
	if apply {
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	v := g.View()
	gone := map[int32]bool{}
	var p Pruned
	for i := range v.units.n {
		u := v.unit(i)
		if u == nil || u.decision != nil && u.decision.Path == "" {
			continue
		}
		path := v.text(u.path)
		if u.decision != nil {
			path = u.decision.Path
		}
		switch {
		case exists(path):
			continue
		case u.decision != nil:
			p.Decisions = append(p.Decisions, u.decision.ID)
		default:
			p.Files = append(p.Files, path)
		}
		gone[i] = true
	}
	if len(gone) > 0 {
		p.Nodes, p.External = v.without(gone)
	}
	slices.Sort(p.Files)
	slices.Sort(p.Decisions)
	if apply {
		g.drop(gone)
	}
	return p
}

// without lists the nodes that are only there because of some units.
func (v *View) without(gone map[int32]bool) (nodes, external []string) {
	for _, i := range v.sorted() {
		n := v.nodes.at(i)
		stays := slices.ContainsFunc(n.places, func(p place) bool { return p.decl != onlyEdges && !gone[p.unit] })
		used := slices.ContainsFunc(n.in, func(e inEdge) bool { return !gone[e.unit] })
		switch {
		case stays || used && (n.kind.space() || n.flags&inRepo == 0):
		case n.flags&inRepo == 0:
			external = append(external, v.id(i))
		default:
			nodes = append(nodes, v.id(i))
		}
	}
	return nodes, external
}

// drop takes units out, and then gives unused texts back. The caller holds g.mu.
func (g *Graph) drop(gone map[int32]bool) {
	if len(gone) > 0 {
		t := g.begin()
		for i := range gone {
			t.put(i, nil)
		}
		t.commit()
	}
	g.slim()
}

// slim makes the graph anew when most of its texts are unused, unless a Build has numbers
// of them in its hands.
func (g *Graph) slim() {
	v := g.View()
	if g.building > 0 {
		return
	}
	s := newSaver(v)
	if len(v.strs) < 2*len(s.names)+1000 {
		return
	}
	var b bytes.Buffer
	if err := v.Save(&b); err != nil {
		return // the graph is as good as it was
	}
	other, err := Load(&b)
	if err != nil {
		return
	}
	w := *other.View()
	w.version = v.version + 1
	g.names, g.fams = other.names, other.fams
	g.view.Store(&w)
}
