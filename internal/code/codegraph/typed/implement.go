package typed

import (
	"cmp"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/code/codegraph"
)

// implementable reports whether types can be said to implement an interface: it has methods, is no constraint, and has
// no type parameters.
func implementable(t *types.TypeName) bool {
	i, ok := t.Type().Underlying().(*types.Interface)
	if !ok || t.IsAlias() || i.NumMethods() == 0 || !i.IsMethodSet() {
		return false
	}
	named, ok := t.Type().(*types.Named)
	return ok && named.TypeParams().Len() == 0
}

// methodIndex indexes types by the names of their methods, so an interface is compared with few types.
type methodIndex map[string][]*types.TypeName

func (w methodIndex) add(t *types.TypeName) {
	named, ok := t.Type().(*types.Named)
	if !ok || t.IsAlias() || types.IsInterface(named) {
		return
	}
	for _, m := range methods(named) {
		w[m] = append(w[m], t)
	}
}

// methods lists the names of the methods of a type or of the pointer to it.
func methods(t *types.Named) (names []string) {
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if !f.Embedded() {
				continue
			}
			for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
				names = append(names, m.Obj().Name())
			}
			return names
		}
	}
	for m := range t.Methods() {
		names = append(names, m.Name())
	}
	return names
}

// implementers returns the types that implement an interface.
func (w methodIndex) implementers(iface *types.TypeName) (out []*types.TypeName) {
	i := iface.Type().Underlying().(*types.Interface)
	candidates := w[i.Method(0).Name()]
	for m := range i.Methods() {
		if c := w[m.Name()]; len(c) < len(candidates) {
			candidates = c
		}
	}
	for _, t := range candidates {
		if types.Implements(t.Type(), i) || types.Implements(types.NewPointer(t.Type()), i) {
			out = append(out, t)
		}
	}
	return out
}

// interfaces lists the implementable interfaces that a package declares.
func interfaces(pkg *types.Package) (out []*types.TypeName) {
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && implementable(t) {
			out = append(out, t)
		}
	}
	return out
}

// implementation is an edge from a type to an interface, with the path of the type's file.
type implementation struct {
	path string
	codegraph.RefinedEdge
}

// implementationsOf lists the types in w that implement an interface. ids returns the ID of an object; "" for none.
func (p *plan) implementationsOf(w methodIndex, iface *types.TypeName, ids func(types.Object) string) (out []implementation) {
	to := ids(iface)
	switch {
	case to != "":
	case !wellKnown(iface):
		return nil
	case iface.Pkg() == nil:
		to = codegraph.ID(codegraph.KindInterface, iface.Name())
	default:
		to = codegraph.ID(codegraph.KindInterface, iface.Pkg().Path()+"."+iface.Name())
	}
	for _, t := range w.implementers(iface) {
		if from := ids(t); from != "" {
			at := p.fset.PositionFor(t.Pos(), false)
			out = append(out, implementation{at.Filename, codegraph.RefinedEdge{From: from, To: to, Kind: codegraph.Implements, Line: at.Line}})
		}
	}
	return out
}

// id returns the ID of an object declared by a package in its plain form; "" for none.
func (p *plan) id(obj types.Object) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.known[obj]
}

func (p *plan) isOurs(pkg *types.Package) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.inRepository[pkg]
}

// implements lists which types in these files implement which interfaces of the repository, and which of the interfaces
// of the standard library that the repository names.
func (p *plan) implements(files map[string]codegraph.RefinedFile) (out []implementation) {
	w, all := methodIndex{}, slices.Collect(maps.Keys(p.named))
	for _, n := range p.nodes {
		if !n.plain || !n.own || n.types == nil {
			continue
		}
		all = append(all, interfaces(n.types)...)
		for _, name := range n.types.Scope().Names() {
			if t, ok := n.types.Scope().Lookup(name).(*types.TypeName); ok {
				if _, ok := files[p.fset.PositionFor(t.Pos(), false).Filename]; ok {
					w.add(t)
				}
			}
		}
	}
	for _, iface := range all {
		out = append(out, p.implementationsOf(w, iface, p.id)...)
	}
	return out
}

// tests compares the types declared by a package's tests with the interfaces of the package, of its imports and of the
// standard library if named. It also compares the package's other types with the interfaces declared by its tests.
func (r *refiner) tests(pkg *types.Package) (out []implementation) {
	inTest := func(t *types.TypeName) bool {
		return strings.HasSuffix(r.plan.fset.PositionFor(t.Pos(), false).Filename, "_test.go")
	}
	tests, rest := methodIndex{}, methodIndex{}
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			if inTest(t) {
				tests.add(t)
			} else {
				rest.add(t)
			}
		}
	}
	all := slices.Concat(interfaces(pkg), slices.Collect(maps.Keys(r.named)))
	for _, imp := range pkg.Imports() {
		if r.plan.isOurs(imp) {
			all = append(all, interfaces(imp)...)
		}
	}
	for _, iface := range all {
		out = append(out, r.plan.implementationsOf(tests, iface, r.id)...)
		if iface.Pkg() == pkg && inTest(iface) {
			out = append(out, r.plan.implementationsOf(rest, iface, r.id)...)
		}
	}
	return out
}

// byFile groups edges by file. The edges of a file are sorted and unique.
func byFile(all []implementation) map[string][]codegraph.RefinedEdge {
	out := map[string][]codegraph.RefinedEdge{}
	for _, e := range all {
		out[e.path] = append(out[e.path], e.RefinedEdge)
	}
	for path, edges := range out {
		slices.SortFunc(edges, func(a, b codegraph.RefinedEdge) int {
			return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), a.Line-b.Line)
		})
		out[path] = slices.CompactFunc(edges, func(a, b codegraph.RefinedEdge) bool { return a.From == b.From && a.To == b.To })
	}
	return out
}
