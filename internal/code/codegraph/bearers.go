package codegraph

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// bearers is who has a bare name in the files of one family of languages.
type bearers struct {
	top     []int32  // what can be used by its bare name elsewhere, at most two
	members []member // at most maxMembers and one
}

type member struct {
	node  int32
	owner sym // bare name; 0 when nobody knows it
}

type memoKey struct {
	name  sym
	fam   uint8
	tests bool
}

const (
	maxMembers = 32 // a name with more owners than these means nothing
	maxGuesses = 3  // edges of one use
)

// bearers finds them. What only tests declare counts for tests alone.
func (r *resolver) bearers(x sym) *bearers {
	key := memoKey{x, r.u.fam, r.u.has(forTests)}
	if b := r.memo[key]; b != nil {
		return b
	}
	b := &bearers{}
	r.v.byName(x, func(i int32, n *node) bool {
		if n.flags&inRepo == 0 || n.fam != key.fam || n.flags&testOnly != 0 && !key.tests {
			return true
		}
		switch n.kind {
		case kMethod, kProperty:
			if len(b.members) <= maxMembers {
				owner, _ := r.v.names.own(lastPart(ownerOf(r.v.text(n.qual))))
				b.members = append(b.members, member{i, owner})
			}
		case kType, kInterface, kFunction, kVariable:
			if len(b.top) < 2 && n.flags&exported != 0 {
				b.top = append(b.top, i)
			}
		}
		return len(b.members) <= maxMembers || len(b.top) < 2
	})
	r.memo[key] = b
	return b
}

// member finds what ".Total" may mean: the only method or property of that name, or the
// few whose owners the file names. A name that the libraries of languages have needs
// an owner that is near.
func (r *resolver) member(x use) []int32 {
	all := r.bearers(x.name).members
	if len(all) > maxMembers {
		return nil
	}
	kept := make([]member, 0, len(all))
	if x.meta.kind() == eCalls {
		for _, m := range all {
			if r.v.nodes.at(m.node).kind == kMethod {
				kept = append(kept, m)
			}
		}
	}
	if len(kept) == 0 {
		kept = append(kept, all...)
	}
	if len(kept) == 1 && (!commonMembers[strings.ToLower(r.v.text(x.name))] || r.names(kept[0]) || r.imported(kept[0].node)) {
		return []int32{kept[0].node}
	}
	kept = slices.DeleteFunc(kept, func(m member) bool { return !r.names(m) })
	if len(kept) > maxGuesses {
		return nil
	}
	out := make([]int32, len(kept))
	for i, m := range kept {
		out[i] = m.node
	}
	return out
}

// names reports whether the unit names the owner of a member.
func (r *resolver) names(m member) bool {
	if r.named == nil {
		r.named = map[sym]bool{}
		for i := range r.u.uses {
			if x := r.u.uses[i]; x.meta&useMember == 0 {
				r.named[r.v.names.last[x.name]] = true
			}
		}
		for i := range r.u.decls {
			if d := &r.u.decls[i]; d.kind != noKind && !d.kind.member() {
				r.named[r.v.names.last[d.qual]] = true
			}
		}
	}
	return m.owner != 0 && r.named[m.owner]
}

// imported reports whether a node's qualified name begins with a scope of the unit or
// with what it imports.
func (r *resolver) imported(i int32) bool {
	q := r.v.text(r.v.nodes.at(i).qual)
	below := func(x sym) bool {
		rest, ok := strings.CutPrefix(q, r.v.text(x))
		return ok && x != 0 && strings.HasPrefix(rest, ".")
	}
	if below(r.u.within.qual) || slices.ContainsFunc(r.u.scopes, below) {
		return true
	}
	return slices.ContainsFunc(r.u.imports, func(im imp) bool { return im.target.kind != kFile && below(im.target.qual) })
}

// ending looks for the only node whose qualified name ends with the given one, behind a
// folder that is no package itself, such as src. In Go, import paths are whole.
// The text need not be one that the graph has: what it means must not depend on that.
func (r *resolver) ending(q string, k edgeNo) int32 {
	if !r.searches(q) {
		return -1
	}
	found := int32(-1)
	for _, i := range r.endings(q) {
		if rank(k, r.v.nodes.at(i).kind) < 0 {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

func (r *resolver) searches(q string) bool {
	return r.v.fams[r.u.fam] != "go" && lastPart(q) != q
}

// endKey is the end of names, in the files of one family of languages.
type endKey struct {
	text string
	fam  uint8
}

// ends is who has a longer name, and whether somebody was looked at for it.
type ends struct {
	nodes []int32
	loose bool
}

// endings returns the nodes of the unit's family that have a longer name with this end,
// when what is before it is no package.
func (r *resolver) endings(q string) []int32 {
	key := endKey{q, r.u.fam}
	e := r.ends[key]
	if e == nil {
		e = &ends{}
		last, _ := r.v.names.own(lastPart(q))
		r.v.byName(last, func(i int32, n *node) bool {
			if n.flags&inRepo == 0 || n.fam != key.fam || n.kind == kFile {
				return true
			}
			before, ok := strings.CutSuffix(r.v.text(n.qual), q)
			root, dot := strings.CutSuffix(before, ".")
			if !ok || !dot || root == "" {
				return true
			}
			e.loose = true
			if !r.space(root) {
				e.nodes = append(e.nodes, i)
			}
			return true
		})
		r.ends[key] = e
	}
	r.loose = r.loose || e.loose
	return e.nodes
}

// space reports whether a name is that of a package or namespace in the repository.
func (r *resolver) space(q string) (is bool) {
	if x, ok := r.v.names.own(q); ok {
		r.v.byQual(x, func(_ int32, n *node) bool {
			is = is || n.kind.space() && n.flags&inRepo != 0
			return !is
		})
	}
	return is
}

// commonMembers are methods and fields of every standard library, in lower case.
var commonMembers = func() map[string]bool {
	m := map[string]bool{}
	for s := range strings.FieldsSeq(`add all any append apply at begin bind call cancel catch clear clone close code collect commit
		compare concat contains copy count create data delete done each emit empty encode decode end entries equals err error
		exec execute exists exit extend fail filter finally find first flush foreach format get getitem group has hash hashcode
		head header id index indexof info init insert int is items iter iterator join key keys kind last len length line list load
		lock log map match max message min name names new next node now off on open parse path peek ping pop print push put query
		range read readline ready reason receive remove render replace request reset resolve response result reverse run save
		scan search seek select send set setup shift size sleep slice sort split start state status stop stream string strip sub
		submit substring sum take test text then time title to tojson tostring trim type unlock unwrap update url use value values
		version wait walk warn with write`) {
		m[s] = true
	}
	return m
}()

// Decision is an architecture decision and what it is about.
type Decision struct {
	ID    string // as in "ADR-0042"
	Title string
	Path  string // of the file that holds it, from the root; may be empty
	Line  int
	// Targets are looked up now, and again whenever files change.
	Targets []Target
}

// Target is something that a decision governs.
type Target struct {
	// Name is an ID, a qualified name or the end of one, a bare name, the path of a file,
	// or the path of a folder: that is the packages of all files below it. One that
	// fits nothing, or more than three things, leads nowhere for now.
	Name string
	How  How // Exact when somebody listed it, Guess when it was found in the text; empty means Exact
}

const (
	maxTargets = 1000 // of a decision
	maxFolder  = 100  // packages that a folder stands for; of a larger one, those directly in it
)

// Govern replaces all decisions by ds. Those without an ID are left out; of two with
// one ID and one path, the later counts. It returns what leads nowhere, by ID and then
// as given.
func (g *Graph) Govern(ds []Decision) []Unresolved {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.begin()
	gone := map[[2]string]int32{}
	for i := range t.v.units.n {
		if u := t.v.unit(i); u != nil && u.decision != nil {
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
		d.Title = line200(d.Title)
		d.Targets = slices.Clone(d.Targets[:min(len(d.Targets), maxTargets)])
		i, have := gone[key]
		delete(gone, key)
		if have {
			if o := t.v.unit(i).decision; o.Title == d.Title && o.Line == d.Line && slices.Equal(o.Targets, d.Targets) {
				continue
			}
		} else {
			i = -1
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

// decisionUnit is a decision as it is kept.
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

// folderName takes off what says that a path is a folder's. One that does not say may
// be all the same.
func folderName(s string) (p string, may bool) {
	p = s
	for _, end := range []string{"/**", "/*", "/..."} {
		p = strings.TrimSuffix(p, end)
	}
	p = strings.TrimPrefix(strings.TrimSuffix(p, "/"), "./")
	return p, p != s || path.Ext(p) == "" && validPath(p)
}

// govern adds the edges of a decision.
func (r *resolver) govern() {
	u, d := r.u, r.u.decision
	if u.path != 0 {
		r.add(r.file(r.v.text(u.path)), u.node, eDefines, int32(d.Line), false)
	}
	for i := range d.Targets {
		to, sure := r.target(d.Targets[i].Name)
		if len(to) == 0 {
			r.nowhere = append(r.nowhere, d.Targets[i].Name)
		}
		for _, n := range to {
			r.add(u.node, n, eGoverns, int32(d.Line), !sure || d.Targets[i].How == Guess)
		}
	}
}

// target finds what the name of a target means, and whether there is no doubt.
func (r *resolver) target(name string) (to []int32, sure bool) {
	if k, q, ok := Split(name); ok {
		if x, ok := r.v.names.own(q); ok {
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

// below lists the packages of the files below a folder, and the files that have none.
func (r *resolver) below(p string) []int32 {
	direct, all := map[int32]bool{}, map[int32]bool{}
	for i := range r.v.units.n {
		u := r.v.unit(i)
		if u == nil || u.decision != nil {
			continue
		}
		rest, ok := strings.CutPrefix(r.v.text(u.path), p)
		if !ok || !strings.HasPrefix(rest, "/") {
			continue
		}
		n := u.node
		if u.home >= 0 {
			n = u.home
		}
		all[n] = true
		if !strings.Contains(rest[1:], "/") {
			direct[n] = true
		}
	}
	if len(all) > maxFolder {
		all = direct
	}
	var out []int32
	for n := range all {
		out = append(out, n)
	}
	slices.SortFunc(out, r.v.compare)
	return out[:min(len(out), maxFolder)]
}

// Unresolved is a target that leads nowhere.
type Unresolved struct {
	ID     string `json:"id"`   // of the decision, without its prefix
	Path   string `json:"path"` // of the decision
	Target string `json:"target"`
}

// Unresolved lists the targets of decisions that lead nowhere, by ID, path, and as the
// decision has them.
func (v *View) Unresolved() []Unresolved {
	var out []Unresolved
	for i := range v.units.n {
		if u := v.unit(i); u != nil {
			for _, name := range u.nowhere {
				out = append(out, Unresolved{u.decision.ID, u.decision.Path, name})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Unresolved) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Path, b.Path)) })
	return out
}
