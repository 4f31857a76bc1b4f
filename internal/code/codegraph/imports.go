package codegraph

import (
	"path"
	"slices"
	"strings"
)

// maxPrefixes is how many prefixes of an import are tried to find its package: "import static shop.cart.Line.total"
// means shop.cart.
const maxPrefixes = 3

// imports resolves the imports of a unit. External packages that the imports or the refinements name are added to the
// graph.
func (t *transaction) imports(u *unit) (f resolution) {
	r := newResolver(&t.v)
	t.publishTexts()
	r.u = u
	var skip edgeSet
	for i := range u.refined {
		if !u.refined[i].partly {
			skip |= u.refined[i].kinds
		}
		for k := range u.refined[i].edges {
			e := &u.refined[i].edges[k]
			for _, end := range []ref{e.from, e.to} {
				if end.kind.isScope() {
					t.node(end)
				}
			}
			if r.standard(e) {
				t.node(e.to)
			}
		}
	}
	if !skip.has(eImports) {
		for _, im := range u.imports {
			to, guess := r.imports(im)
			if to < 0 && im.target.kind.isScope() {
				to = t.node(im.target)
			}
			r.add(u.node, to, eImports, im.line, guess)
		}
	}
	return resolution{edges: r.edges, usesSuffixes: r.usesSuffixes}
}

// standard reports whether an edge says that a type implements an interface of Go's standard library. Such an interface
// gets a node although the repository does not declare it.
func (r *resolver) standard(e *refinedEdge) bool {
	if e.kind != eImplements || e.to.kind != kInterface || r.v.fams[r.u.fam] != "go" {
		return false
	}
	pkg := ownerOf(r.v.text(e.to.qual))
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && !r.space(pkg)
}

// imports returns the node of an import in the graph, -1 for none, and whether it is a guess.
func (r *resolver) imports(im imp) (to int32, guess bool) {
	switch im.target.kind {
	case noKind:
		return -1, false
	case kFile:
		return r.importedFile(im)
	}
	if to := r.v.byRef(im.target); to >= 0 && r.v.nodes.at(to).flags&inRepo != 0 {
		return to, false
	}
	if to := r.qualified(im.target.qual, eImports); to >= 0 {
		return to, false
	}
	if to := r.bySuffix(r.v.text(im.target.qual), eImports); to >= 0 {
		return to, true
	}
	if r.v.fams[r.u.fam] == "go" || !im.target.kind.isScope() {
		return -1, false
	}
	q := r.v.text(im.target.qual)
	for range maxPrefixes - 1 {
		q = ownerOf(q)
		if to := r.lookup(q, eImports); to >= 0 {
			return to, false
		}
	}
	return -1, false
}

// importedFile finds the imported file: the exact path, then the path with an extension or an index file, then the only
// file whose path ends with it.
func (r *resolver) importedFile(im imp) (to int32, guess bool) {
	p := r.v.text(im.target.qual)
	if to := r.file(p); to >= 0 {
		return to, false
	}
	stems := []string{p}
	for _, ext := range compiled {
		if s, ok := strings.CutSuffix(p, ext); ok {
			stems = append(stems, s)
		}
	}
	for _, s := range stems {
		for _, ext := range moduleFiles[r.v.fams[r.u.fam]] {
			if to := r.file(s + ext); to >= 0 {
				return to, false
			}
		}
	}
	for _, s := range []string{p, strings.TrimLeft(r.v.text(im.path), "./")} {
		if to := r.pathEnding(s); to >= 0 {
			return to, true
		}
	}
	return -1, false
}

func (r *resolver) file(p string) int32 {
	if x, ok := r.v.names.findOwned(p); ok {
		if i := r.v.byRef(ref{kFile, x}); i >= 0 && r.v.nodes.at(i).flags&inRepo != 0 {
			return i
		}
	}
	return -1
}

// pathEnding returns the only file of the unit's family whose path ends with p, after a slash. It returns -1 for none
// or several.
func (r *resolver) pathEnding(p string) int32 {
	x, ok := r.v.names.findOwned(base(p))
	if !ok || p == "" || path.Ext(p) == "" {
		return -1
	}
	found := int32(-1)
	for i, n := range r.v.byName(x) {
		if n.kind == kFile && n.flags&inRepo != 0 && n.fam == r.u.fam && strings.HasSuffix(r.v.text(n.qual), "/"+p) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// defines adds the edges from the package to the file, from the file to its declarations, and from types and namespaces
// to their members.
func (r *resolver) defines() {
	u := r.u
	r.add(u.home, u.node, eDefines, 0, false)
	for i := range u.decls {
		d := &u.decls[i]
		n := u.nodes[i]
		if n < 0 {
			continue
		}
		if d.parent >= 0 {
			r.add(r.nodeOf(d.parent), n, eDefines, d.line, false)
			continue
		}
		r.add(u.node, n, eDefines, d.line, false)
		if d.kind.member() { // its type may be declared in another file
			r.add(r.lookup(ownerOf(r.v.text(d.qual)), eInherits), n, eDefines, d.line, false)
		}
	}
}

// dependsOn adds the edges from the file's package to the packages that the file imports. Files with tests do not
// count: they may import what depends on the package.
func (r *resolver) dependsOn() {
	if r.u.home < 0 || r.u.has(forTests) {
		return
	}
	for _, e := range r.edges {
		if e.meta.kind() != eImports || e.from != r.u.node {
			continue
		}
		homes := []int32{e.to} // the packages that contain what is imported
		if n := r.v.nodes.at(e.to); !n.kind.isScope() {
			homes = homes[:0]
			for _, p := range n.places {
				if u := r.v.unit(p.unit); p.decl != onlyEdges && u.home >= 0 {
					homes = append(homes, u.home)
				}
			}
		}
		if len(homes) > 0 {
			r.add(r.u.home, slices.MinFunc(homes, r.v.compare), eDependsOn, e.meta.line(), e.meta&guessed != 0)
		}
	}
}

// Importing lists files with an import that contains one of the given words between its dots, slashes, colons and
// backslashes, as written. Such an import may mean a file that was created just now. The paths are sorted, and at most
// limit are returned. A call takes a few milliseconds for ten thousand files.
func (v *View) Importing(words map[string]bool, limit int) []string {
	var out []string
	fits := map[sym]bool{} // by import as written
	for _, u := range v.files {
		if slices.ContainsFunc(u.imports, func(im imp) bool {
			fit, seen := fits[im.path]
			if !seen {
				fit = slices.ContainsFunc(strings.FieldsFunc(v.text(im.path), betweenNames), func(w string) bool { return words[w] })
				fits[im.path] = fit
			}
			return fit
		}) {
			out = append(out, v.text(u.path))
		}
	}
	slices.Sort(out)
	return out[:min(len(out), max(limit, 0))]
}

func betweenNames(c rune) bool { return strings.ContainsRune(`./:\`, c) }
