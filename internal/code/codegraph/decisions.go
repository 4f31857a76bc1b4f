package codegraph

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// Decision is an architecture decision and the code that it applies to.
type Decision struct {
	ID    string // as in "ADR-0042"
	Title string
	Path  string // of the file that contains it, from the root; may be empty
	Line  int
	// Targets are resolved now, and again whenever files change.
	Targets []Target
}

// Target names something that a decision governs.
type Target struct {
	// Name is an ID, a qualified name or the end of one, a bare name, the path of a file, or the path of a folder,
	// which stands for the packages of all files below it. A name that matches nothing, or more than three nodes, stays
	// unresolved for now.
	Name string
	How  How // Exact if a person listed it, Guess if it was found in the text; empty means Exact
}

const (
	maxTargets = 1000 // per decision
	maxFolder  = 100  // packages that a folder may stand for; a larger folder stands only for those directly in it
)

// Govern replaces all decisions by ds. It leaves out decisions without an ID. If two have the same ID and path, the
// later one is used. It returns the targets that could not be resolved, as View.Unresolved does.
func (g *Graph) Govern(ds []Decision) []Unresolved {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.begin()
	gone := map[[2]string]int32{}
	for i, u := range t.v.all {
		if u.decision != nil {
			gone[[2]string{u.decision.ID, u.decision.Path}] = i
		}
	}
	last := map[[2]string]int{}
	for k := range ds {
		last[[2]string{ds[k].ID, ds[k].Path}] = k
	}
	for k := range ds {
		d := ds[k]
		key := [2]string{d.ID, d.Path}
		if !validName(d.ID) || last[key] != k {
			continue
		}
		d.Title = Clip(d.Title)
		d.Targets = slices.Clone(d.Targets[:min(len(d.Targets), maxTargets)])
		i, have := gone[key]
		delete(gone, key)
		if !have {
			i = -1
		} else if o := t.v.unit(i).decision; o.Title == d.Title && o.Line == d.Line && slices.Equal(o.Targets, d.Targets) {
			continue
		}
		t.put(i, g.decisionUnit(&d))
	}
	for _, i := range gone {
		t.put(i, nil)
	}
	if len(t.redo) > 0 {
		t.commit()
	}
	return g.View().Unresolved()
}

// decisionUnit makes the unit of a decision.
func (g *Graph) decisionUnit(d *Decision) *unit {
	u := &unit{decision: d, home: -1}
	if validPath(d.Path) {
		u.path = g.names.intern(d.Path)
		u.keys = append(u.keys, hashName(stem(d.Path)))
	}
	for _, t := range d.Targets {
		_, q, _ := Split(t.Name)
		p, folder := folderName(q)
		fileNames(p, func(s string) { u.keys = append(u.keys, hashName(s)) })
		u.keys = append(u.keys, hashName(lastPart(q)))
		if folder {
			u.flags |= folders
		}
	}
	return u
}

// folderName removes the parts that mark a path as that of a folder: "/", "/*", "/**" and "/...". may reports whether s
// can be a folder: it has such a mark, or is a path without an extension.
func folderName(s string) (p string, may bool) {
	p = s
	for _, end := range []string{"/**", "/*", "/..."} {
		p = strings.TrimSuffix(p, end)
	}
	p = strings.TrimPrefix(strings.TrimSuffix(p, "/"), "./")
	return p, p != s || path.Ext(p) == "" && validPath(p)
}

// govern adds the edges of the unit's decision.
func (r *resolver) govern() {
	u, d := r.u, r.u.decision
	if u.path != 0 {
		r.add(r.file(r.v.text(u.path)), u.node, eDefines, int32(d.Line), false)
	}
	for i := range d.Targets {
		to, sure := r.target(d.Targets[i].Name)
		if len(to) == 0 {
			r.unresolved = append(r.unresolved, d.Targets[i].Name)
		}
		for _, n := range to {
			r.add(u.node, n, eGoverns, int32(d.Line), !sure || d.Targets[i].How == Guess)
		}
	}
}

// target resolves the name of a target. sure reports whether the result is unambiguous.
func (r *resolver) target(name string) (to []int32, sure bool) {
	if k, q, ok := Split(name); ok {
		if x, ok := r.v.names.findOwned(q); ok {
			if i := r.v.byRef(ref{numberOfKind(k), x}); i >= 0 && r.v.nodes.at(i).flags&inRepo != 0 {
				return []int32{i}, true
			}
		}
		return nil, false
	}
	p, folder := folderName(name)
	if i := r.file(p); i >= 0 {
		return []int32{i}, true
	}
	found := r.v.named(name, true)
	if len(found) == 0 && folder {
		return r.below(p), true
	}
	if len(found) > maxGuesses {
		return nil, false
	}
	return found, len(found) == 1
}

// below lists the packages of the files below a folder, and the files that belong to no package.
func (r *resolver) below(p string) []int32 {
	direct, all := map[int32]bool{}, map[int32]bool{}
	for _, u := range r.v.files {
		rest, ok := strings.CutPrefix(r.v.text(u.path), p+"/")
		if !ok {
			continue
		}
		n := u.node
		if u.home >= 0 {
			n = u.home
		}
		all[n] = true
		if !strings.Contains(rest, "/") {
			direct[n] = true
		}
	}
	if len(all) > maxFolder {
		all = direct
	}
	out := slices.SortedFunc(maps.Keys(all), r.v.compare)
	return out[:min(len(out), maxFolder)]
}

// Unresolved is a target that could not be resolved.
type Unresolved struct {
	ID     string `json:"id"`   // of the decision, without "adr:"
	Path   string `json:"path"` // of the decision
	Target string `json:"target"`
}

// Unresolved lists the targets of decisions that could not be resolved, by ID and path, then in the decision's order.
func (v *View) Unresolved() []Unresolved {
	var out []Unresolved
	for _, u := range v.all {
		for _, name := range u.unresolved {
			out = append(out, Unresolved{u.decision.ID, u.decision.Path, name})
		}
	}
	slices.SortStableFunc(out, func(a, b Unresolved) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path)) })
	return out
}
