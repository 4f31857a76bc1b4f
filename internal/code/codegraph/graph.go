package codegraph

import (
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
	t.see()
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
