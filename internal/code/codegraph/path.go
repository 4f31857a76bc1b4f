package codegraph

import (
	"slices"
	"strings"
)

const (
	maxPathDepth = 24  // maximum number of aliases and types that one path goes through
	maxPathSteps = 400 // maximum number of steps for one use, over all paths
)

// pathKey is a qualified name in the files of one family of languages.
type pathKey struct {
	path string
	fam  uint8
}

// pathEnd is the target of a path: a node, or a module. Neither is set if the path can't be resolved.
type pathEnd struct {
	node  int32  // -1 for none
	scope string // prefix of the names in the module, without the last dot; "" if the target is no module
	guess bool   // the path goes through a guessed type
}

var nowhere = pathEnd{node: -1}

// pathEntry is the cached result of a path and the names that it depends on.
type pathEntry struct {
	end          pathEnd
	deps         []uint32
	usesSuffixes bool
}

// throughModules resolves a qualified name that no declaration has: a name that a module imports or re-exports, or a
// member of such a name.
func (r *resolver) throughModules(q string, k edgeNo) (to int32, guess bool) {
	if f := r.v.fams[r.u.fam]; f != "python" && f != "javascript" && f != "rust" { // other languages don't re-export
		return -1, false
	}
	end, _ := r.last(q, k)
	if end.node < 0 || rank(k, r.v.nodes.at(end.node).kind) < 0 {
		return -1, false
	}
	return end.node, end.guess
}

// typed adds the edges of a use that goes through the types of values. If the type is unknown, the use is resolved like
// a member of a value of unknown type.
func (r *resolver) typed(x use, from int32) {
	k, q := x.meta.kind(), r.v.text(x.name)
	end, known := r.last(q, k)
	own := r.declaresType(ownerOf(q))
	switch {
	case end.node >= 0 && rank(k, r.v.nodes.at(end.node).kind) >= 0:
		r.add(from, end.node, k, x.meta.line(), end.guess || !own)
	case k == eCalls && (!known || own):
		for _, to := range r.member(use{from: x.from, name: r.v.names.last[x.name], meta: x.meta}) {
			r.add(from, to, k, x.meta.line(), true)
		}
	}
}

// declaresType reports whether the unit declares a type with this qualified name.
func (r *resolver) declaresType(q string) bool {
	x, ok := r.v.names.findOwned(q)
	return ok && slices.ContainsFunc(r.u.decls, func(d decl) bool { return d.qual == x && (d.kind == kType || d.kind == kInterface) })
}

// last resolves a path whose last part is the target of an edge of kind k. known reports whether the owner of the last
// part was found, even if the owner does not have the part.
func (r *resolver) last(q string, k edgeNo) (end pathEnd, known bool) {
	r.depends(q)
	if to := r.lookup(q, k); to >= 0 {
		return pathEnd{node: to}, true
	}
	return r.part(ownerOf(q), lastPart(q), k)
}

// part resolves a name within the target of the path owner. known is as in last.
func (r *resolver) part(owner, name string, k edgeNo) (end pathEnd, known bool) {
	if owner == "" {
		return nowhere, false
	}
	if units := r.module(owner); len(units) > 0 {
		return r.reexported(units, name, k), true
	}
	o := r.follow(owner)
	for range maxPathDepth {
		if o.scope != "" {
			return r.inModule(o, name, k), true
		}
		if o.node < 0 {
			return nowhere, false
		}
		n := r.v.nodes.at(o.node)
		q := r.v.text(n.qual)
		if n.kind == kType || n.kind == kInterface || n.kind == kNamespace {
			r.memberTypes = append(r.memberTypes, hashName(name))
			if to := r.within(q, name, k); to >= 0 {
				return pathEnd{node: to, guess: o.guess}, true
			}
			to, guess := r.inheritedBy(baseType{o.node, o.guess}, name, k)
			if to < 0 && n.kind == kType { // an alias of another type: "type A = B"
				if typ := r.typeOf(o.node); typ != "" && typ != q {
					o = r.follow(typ)
					continue
				}
			}
			if to < 0 && enters(name) { // the value is what a context manager gives
				return o, true
			}
			return pathEnd{node: to, guess: guess}, true
		}
		if to := r.within(q, name, k); to >= 0 { // a member declared on the value itself
			return pathEnd{node: to, guess: true}, true
		}
		typ := r.typeOf(o.node)
		if typ == "" && enters(lastPart(q)) { // most give themselves
			end, _ = r.part(ownerOf(q), name, k)
			return end, end.node >= 0
		}
		if typ == "" {
			return nowhere, false
		}
		o = r.follow(typ)
		o.guess = true
	}
	return nowhere, false
}

// enters reports whether a method of Python gives the value of "with x as value".
func enters(name string) bool { return name == "__enter__" || name == "__aenter__" }

// inModule resolves a name in the module that is the target of a path.
func (r *resolver) inModule(o pathEnd, name string, k edgeNo) pathEnd {
	q := o.scope + "." + name
	r.depends(q)
	if to := r.lookup(q, k); to >= 0 {
		return pathEnd{node: to, guess: o.guess}
	}
	end := r.reexported(r.module(o.scope), name, k)
	end.guess = end.guess || o.guess
	return end
}

// reexported resolves a name that modules import or re-export. In JavaScript it also tries the members of the module's
// default export.
func (r *resolver) reexported(units []int32, name string, k edgeNo) pathEnd {
	end := r.reexportedByName(units, name, k)
	if end.node >= 0 || end.scope != "" || name == "default" || r.v.fams[r.u.fam] != "javascript" {
		return end
	}
	d := r.reexportedByName(units, "default", eReferences)
	if d.node < 0 {
		return nowhere
	}
	n := r.v.nodes.at(d.node)
	if to := r.within(r.v.text(n.qual), name, k); to >= 0 {
		return pathEnd{node: to, guess: true}
	}
	if n.kind == kType || n.kind == kInterface {
		to, _ := r.inheritedBy(baseType{d.node, true}, name, k)
		return pathEnd{node: to, guess: true}
	}
	return nowhere
}

// reexportedByName resolves a name that modules import or re-export under that name, or with "*".
func (r *resolver) reexportedByName(units []int32, name string, k edgeNo) pathEnd {
	r.memberTypes = append(r.memberTypes, hashName(aliasKey+name), hashName(aliasKey+"*"))
	x, known := r.v.names.findOwned(name)
	for _, i := range units {
		for _, a := range r.v.unit(i).aliases {
			if known && a.name == x {
				if end := r.alias(r.v.text(a.target), k); end.node >= 0 || end.scope != "" {
					return end
				}
			}
		}
	}
	if name == "default" {
		return nowhere
	}
	for _, i := range units {
		for _, a := range r.v.unit(i).aliases {
			if r.v.text(a.name) != "*" {
				continue
			}
			if end := r.alias(r.v.text(a.target)+"."+name, k); end.node >= 0 || end.scope != "" {
				return end
			}
		}
	}
	return nowhere
}

// alias resolves the target of an alias for an edge of kind k. k matters because a type and a value may share a name.
func (r *resolver) alias(target string, k edgeNo) pathEnd {
	r.depends(target)
	if to := r.lookup(target, k); to >= 0 && !r.v.nodes.at(to).kind.isScope() {
		return pathEnd{node: to}
	}
	return r.follow(target)
}

// follow resolves a path and caches the result.
func (r *resolver) follow(q string) pathEnd {
	key := pathKey{q, r.u.fam}
	if e := r.paths[key]; e != nil {
		r.memberTypes = append(r.memberTypes, e.deps...)
		r.usesSuffixes = r.usesSuffixes || e.usesSuffixes
		return e.end
	}
	if len(r.stack) == 0 {
		r.steps, r.truncated = 0, false
	}
	if r.steps++; r.steps > maxPathSteps || len(r.stack) > maxPathDepth || slices.Contains(r.stack, q) {
		r.truncated = true
		return nowhere
	}
	outer, loose := r.memberTypes, r.usesSuffixes
	r.memberTypes, r.usesSuffixes = nil, false
	r.stack = append(r.stack, q)
	end := r.followed(q)
	r.stack = r.stack[:len(r.stack)-1]
	if !r.truncated || len(r.stack) == 0 { // a path cut short by a cycle is not a final result
		slices.Sort(r.memberTypes)
		r.paths[key] = &pathEntry{end, slices.Compact(r.memberTypes), r.usesSuffixes}
	}
	r.memberTypes, r.usesSuffixes = append(outer, r.memberTypes...), loose || r.usesSuffixes
	return end
}

func (r *resolver) followed(q string) pathEnd {
	r.depends(q)
	if len(r.module(q)) > 0 {
		return pathEnd{node: -1, scope: q}
	}
	end, _ := r.last(q, eReferences)
	return end
}

// typeOf returns the type of a value or the result type of a function; "" if unknown.
func (r *resolver) typeOf(i int32) (typ string) {
	n := r.v.nodes.at(i)
	r.memberTypes = append(r.memberTypes, hashName(typeKey+lastPart(r.v.text(n.qual))))
	for _, p := range n.places {
		if p.decl < 0 {
			continue
		}
		if t := r.v.text(r.v.unit(p.unit).decls[p.decl].typ); t != "" && (typ == "" || t < typ) {
			typ = t
		}
	}
	return typ
}

// module lists the units that form the module with this scope, by path.
func (r *resolver) module(scope string) []int32 {
	r.memberTypes = append(r.memberTypes, hashName(lastPart(scope)), hashName(stem(scope)))
	key := pathKey{scope, r.u.fam}
	if units, ok := r.modules[key]; ok {
		return units
	}
	var nodes, units []int32
	within, _ := r.v.names.findOwned(scope)
	fam := r.v.fams[r.u.fam]
	switch fam {
	case "python", "rust":
		nodes = append(nodes, r.v.byRef(ref{kPackage, within}))
	case "javascript":
		for _, ext := range moduleFiles["javascript"] {
			if !strings.HasPrefix(ext, "/") {
				nodes = append(nodes, r.file(scope+ext))
			}
		}
	}
	for _, i := range nodes {
		if i < 0 {
			continue
		}
		for _, p := range r.v.nodes.at(i).places {
			if p.decl == noDecl && (fam == "javascript" || r.v.unit(p.unit).within.qual == within) {
				units = append(units, p.unit)
			}
		}
	}
	slices.SortFunc(units, func(a, b int32) int { return strings.Compare(r.v.text(r.v.unit(a).path), r.v.text(r.v.unit(b).path)) })
	r.modules[key] = units
	return units
}
