package codegraph

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Graph holds what the files of one repository declare and how the declarations use each other. It is in memory and
// safe for concurrent use: changes run one after another, and queries use a View and never block.
//
// The content of the graph follows from the latest files, refinements and decisions, and not from the order in which
// they were added.
type Graph struct {
	mu    sync.Mutex // serializes changes
	names *names     // extended under mu
	fams  []string   // families of languages, by number; extended under mu

	building int // number of running Builds; guarded by mu

	view atomic.Pointer[View]
}

// New returns an empty graph.
func New() *Graph {
	g := &Graph{names: newNames(), fams: []string{""}}
	g.view.Store(&View{names: g.names})
	return g
}

// View returns the present state of the graph.
func (g *Graph) View() *View { return g.view.Load() }

// Change is the result of Apply.
type Change struct {
	Files   int      `json:"files"`             // files that were added or replaced
	Removed int      `json:"removed"`           // files that were in the graph and were removed
	Others  int      `json:"others"`            // other files and decisions that were resolved again because a name changed
	Refused []string `json:"refused,omitempty"` // invalid paths
}

// Apply replaces the files changed, by path, and removes the files at the paths removed. If two files have the same
// path, the later one is used. A path in both lists is kept. A removed path that is not in the graph is ignored; a path
// that is invalid within a repository is refused. Apply copies the files.
//
// All changes become visible in one new view, including the edges of other files to the changed ones.
func (g *Graph) Apply(changed []File, removed []string) Change {
	g.mu.Lock()
	defer g.mu.Unlock()
	var c Change
	var units []*unit
	for i := range changed {
		if !validPath(changed[i].Path) {
			c.Refused = append(c.Refused, changed[i].Path)
			continue
		}
		units = append(units, g.compact(&changed[i]))
	}
	c.Files = len(units)
	c.Removed, c.Others = g.replace(units, removed)
	return c
}

// replace adds units, or replaces those with the same path, and removes the units of other paths. It returns how many
// were removed and how many others were resolved again. The caller holds g.mu.
func (g *Graph) replace(units []*unit, removed []string) (gone, others int) {
	if len(units)+len(removed) == 0 {
		return 0, 0
	}
	t := g.begin()
	t.publishTexts()
	for _, p := range removed {
		if i := t.v.fileUnit(p); i >= 0 {
			t.put(i, nil)
			gone++
		}
	}
	for _, u := range units {
		i := t.v.fileUnit(g.names.strs[u.path])
		if i >= 0 {
			if old := t.v.unit(i); old.hash == u.hash && u.hash != "" && len(old.refined) > 0 {
				u = g.refineUnit(u, old.refined)
			}
		}
		t.put(i, u)
	}
	if len(t.redo) > 0 {
		others = t.commit()
	}
	return gone, others
}

// Hashes returns the hash of each file, by path.
func (v *View) Hashes() map[string]string {
	out := make(map[string]string, v.counts.Files)
	for _, u := range v.files {
		out[v.text(u.path)] = u.hash
	}
	return out
}

// Problems lists the places that could not be read, by path and line. At most limit are returned; total counts all.
func (v *View) Problems(limit int) (list []FileProblem, total int) {
	for _, u := range v.files {
		for _, p := range u.probs {
			list = append(list, FileProblem{v.text(u.path), p.Line, p.Text})
		}
	}
	slices.SortStableFunc(list, compareProblems)
	return list[:min(len(list), max(limit, 0))], len(list)
}

// Refined is the result of Refine.
type Refined struct {
	Files int `json:"files"` // files whose edges were refined
	Stale int `json:"stale"` // files with other content in the graph, or not in it
}

// Refine applies a refinement to the files whose content in the graph has the given hash. It stays valid until the
// content changes or the same source refines the file again. Refinements by several sources are combined.
func (g *Graph) Refine(r Refinement) Refined {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out Refined
	t := g.begin()
	t.publishTexts()
	for i := range r.Files {
		f := &r.Files[i]
		at := t.v.fileUnit(f.Path)
		if at < 0 || t.v.unit(at).hash != f.Hash || f.Hash == "" {
			out.Stale++
			continue
		}
		out.Files++
		part := refined{source: r.Source, partly: r.Partly, decls: slices.Clone(f.Decls)}
		if len(r.Kinds) > 0 {
			part.kinds = edgeSetOf(r.Kinds)
		}
		for k := range f.Edges {
			e := &f.Edges[k]
			x := refinedEdge{g.refOf(e.From), g.refOf(e.To), numberOfEdge(e.Kind), int32(min(max(e.Line, 0), maxLine)), uint16(min(max(e.Times, 0), math.MaxUint16))}
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

// refineUnit returns a copy of a unit with the refinements parts in place of its present ones.
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
	c.edges, c.foreignNodes, c.nodes = nil, nil, nil
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

// answered is a name in a declaration that a refinement has resolved already.
type answered struct {
	from int32 // node
	name sym
}

// refined adds the refined edges, and returns the kinds for which they are complete.
func (r *resolver) refined() (skip edgeSet) {
	clear(r.answered)
	there := func(x ref, external bool) int32 {
		i := r.v.byRef(x)
		if i >= 0 && r.v.nodes.at(i).flags&inRepo == 0 && !x.kind.isScope() && !external {
			return -1
		}
		return i
	}
	for i := range r.u.refined {
		p := &r.u.refined[i]
		if !p.partly {
			skip |= p.kinds
		}
		for k := range p.edges {
			e := &p.edges[k]
			from, to := there(e.from, false), there(e.to, r.standard(e))
			r.times = e.times
			r.add(from, to, e.kind, e.line, false)
			if p.partly && from >= 0 && to >= 0 {
				r.answered[answered{from, r.v.names.last[e.to.qual]}] = true
			}
		}
	}
	return skip
}
