package codegraph

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Graph is what the files of one repository declare and how that hangs together, in
// memory. It is safe for concurrent use: changes wait for each other, and questions,
// which go to a View, wait for nobody.
//
// What the graph says follows from the files, refinements and decisions that it was
// given last, and not from the order in which they came.
type Graph struct {
	mu    sync.Mutex // one change at a time
	names *names     // added to under mu
	fams  []string   // families of languages, by number; added to under mu

	building int // how many Builds are on their way; guarded by mu

	view atomic.Pointer[View]
}

// New returns an empty graph.
func New() *Graph {
	g := &Graph{names: newNames(), fams: []string{""}}
	g.view.Store(&View{names: g.names})
	return g
}

// View returns the graph as it is now.
func (g *Graph) View() *View { return g.view.Load() }

// Change says what a change came to.
type Change struct {
	Files   int      `json:"files"`   // that were given and taken
	Removed int      `json:"removed"` // that were there and are no more
	Others  int      `json:"others"`  // files and decisions that were looked at again because of names that changed
	Refused []string `json:"refused,omitempty"`
}

// Apply replaces what the graph knows of the files changed, by path, and takes those at
// the paths removed out of it. Of two files with one path, the later counts; a path in
// both lists is there afterwards. A path that is not there is no error; one that is no path within
// a repository is refused. The files are copied.
//
// The view that follows shows all of it at once. Edges of other files to what has
// changed follow.
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

// replace takes units in place of those with their paths, and removes others. The
// caller holds g.mu.
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
	for i := range v.units.n {
		if u := v.unit(i); u != nil && u.decision == nil {
			out[v.text(u.path)] = u.hash
		}
	}
	return out
}

// Problems lists the places that could not be read, by path and line, at most limit of
// them, and counts them all.
func (v *View) Problems(limit int) (list []FileProblem, total int) {
	for i := range v.units.n {
		u := v.unit(i)
		if u == nil {
			continue
		}
		total += len(u.probs)
		for _, p := range u.probs {
			list = append(list, FileProblem{v.text(u.path), p.Line, p.Text})
		}
	}
	slices.SortStableFunc(list, compareProblems)
	return list[:min(len(list), max(limit, 0))], total
}

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

// answered is a name of which a refinement says what a declaration means by it.
type answered struct {
	from int32 // node
	name sym
}

// refined adds what is refined, and returns of which kinds that is all.
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
