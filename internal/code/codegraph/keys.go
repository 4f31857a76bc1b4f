package codegraph

import (
	"slices"
	"strings"
)

// indexStems are files that stand for their folder.
var indexStems = map[string]bool{"index": true, "__init__": true, "mod": true, "lib": true}

// fileNames calls with every name by which others may look for a file.
func fileNames(path string, name func(string)) {
	name(base(path))
	s := stem(path)
	name(s)
	if indexStems[s] {
		name(base(folder(path)))
	}
}

// keysOf returns the names that a unit's edges depend on beside those of its uses: of
// what it imports, of the types whose members it declares, and of what it may test.
func (g *Graph) keysOf(u *unit) []uint32 {
	var keys []uint32
	add := func(s string) { keys = append(keys, hashName(s)) }
	text := func(x sym) string { return g.names.strs[x] }
	for i := range u.imports {
		im := &u.imports[i]
		if im.target.kind == noKind {
			continue
		}
		if im.target.kind == kFile {
			fileNames(text(im.target.qual), add)
			add(stem(text(im.path)))
			continue
		}
		q := text(im.target.qual)
		for range maxPrefixes {
			add(lastPart(q))
			if q = ownerOf(q); q == "" {
				break
			}
		}
	}
	for i := range u.decls {
		d := &u.decls[i]
		if d.parent < 0 && d.kind.member() {
			add(lastPart(ownerOf(text(d.qual))))
		}
		if u.has(forTests) {
			for _, s := range subjects(text(d.name)) {
				add(lastPart(s))
			}
		}
	}
	if u.has(forTests) {
		if s := testedFile(text(u.path)); s != "" {
			add(stem(s))
		}
	}
	return keys
}

// refinedKeys are the names that what is refined depends on.
func (g *Graph) refinedKeys(edges []refinedEdge) []uint32 {
	var keys []uint32
	for i := range edges {
		for _, r := range []ref{edges[i].from, edges[i].to} {
			s := g.names.strs[r.qual]
			if r.kind == kFile {
				s = stem(s)
			} else {
				s = lastPart(s)
			}
			keys = append(keys, hashName(s))
		}
		if e := &edges[i]; e.kind == eImplements && e.to.kind == kInterface { // of which package is the question
			keys = append(keys, hashName(lastPart(ownerOf(g.names.strs[e.to.qual]))))
		}
	}
	return keys
}

// mark is one thing that a unit declares, as others see it: by a name, and with
// everything that decides what a use of the name means.
type mark struct {
	name  string
	node  ref
	shape uint32 // a hash of the rest
}

// marks counts what a unit declares.
func (g *Graph) marks(u *unit, count func(mark)) {
	text := func(x sym) string { return g.names.strs[x] }
	shape := uint32(u.within.qual)<<8 ^ uint32(u.within.kind)<<4 ^ uint32(u.fam)<<24 ^ uint32(u.flags&forTests)<<2
	if u.decision != nil {
		return // nothing in a file means a decision
	}
	var locals []local
	own := ref{kFile, u.path}
	fileNames(text(u.path), func(s string) { count(mark{s, own, shape}) })
	if u.within.kind != noKind {
		count(mark{lastPart(text(u.within.qual)), u.within, shape})
	}
	for i := range u.decls {
		d := &u.decls[i]
		if d.kind == noKind {
			continue
		}
		m := mark{text(d.name), ref{d.kind, d.qual}, shape}
		if d.exported {
			m.shape ^= 1
		}
		count(m)
		if l := text(g.names.last[d.qual]); l != text(d.name) {
			m.name = l
			count(m)
		}
		if d.kind == kType || d.kind == kInterface {
			if m.shape = g.above(u, int32(i), &locals); m.shape != 0 {
				m.name = originsOf + text(g.names.last[d.qual])
				count(m)
			}
		}
	}
}

// originsOf and the last part of a type's name stand for what it inherits from: that may
// change where the type does not.
const originsOf = "<"

// above is a hash of everything in a unit that decides what a type in it inherits from. A
// name that is looked for in the file is worth what it means there. The unit's locals
// are found when they are needed.
func (g *Graph) above(u *unit, decl int32, locals *[]local) (h uint32) {
	mix := func(n ...uint32) {
		for _, x := range n {
			h = (h ^ x) * 16777619
		}
	}
	for i := range u.refined {
		p := &u.refined[i]
		for _, e := range p.edges {
			if e.kind == eInherits && e.from == (ref{u.decls[decl].kind, u.decls[decl].qual}) {
				mix(uint32(e.to.kind), uint32(e.to.qual))
			}
		}
		mix(uint32(p.kinds & giving))
	}
	for _, x := range u.basesOf(decl, g.fams[u.fam] == "go") {
		mix(uint32(x.name), uint32(x.meta&(1<<useBits-1)))
		if x.meta&useQualified != 0 {
			continue
		}
		if *locals == nil {
			*locals = u.locals(nil)
		}
		if d := u.inside(*locals, x, eInherits); d >= 0 {
			mix(uint32(u.decls[d].kind), uint32(u.decls[d].qual))
			continue
		}
		for _, s := range u.scopes {
			mix(uint32(s))
		}
	}
	return h
}

// difference says which names mean something else after unit b took the place of a.
// Either may be nil.
func (g *Graph) difference(a, b *unit, changed map[string]bool) {
	count := map[mark]int{}
	if a != nil {
		g.marks(a, func(m mark) { count[m]-- })
	}
	if b != nil {
		g.marks(b, func(m mark) { count[m]++ })
	}
	for m, n := range count {
		if n != 0 {
			changed[m.name] = true
		}
	}
}

// affected returns the units, other than those of which skip is true, whose edges may
// be others now that names have changed.
func (t *tx) affected(changed map[string]bool, skip func(int32) bool) []int32 {
	if len(changed) == 0 && !t.spacesFlipped && !t.filesChanged {
		return nil
	}
	marked := make([]bool, len(t.g.names.strs))
	hashes := make(map[uint32]bool, len(changed))
	for s := range changed {
		hashes[hashName(s)] = true
		if x, ok := t.g.names.own(s); ok {
			marked[x] = true
		}
	}
	var low [1 << 16 / 64]uint64 // most keys are told apart by 16 bits
	for h := range hashes {
		low[h%(1<<16)/64] |= 1 << (h % 64)
	}
	has := func(h uint32) bool { return low[h%(1<<16)/64]&(1<<(h%64)) != 0 && hashes[h] }
	for x, last := range t.g.names.last {
		marked[x] = marked[last] || marked[x]
	}
	var out []int32
	for i := range t.units.n {
		u := *t.units.at(i)
		if u == nil || skip(i) {
			continue
		}
		if u.dependsOn(marked, has) || t.spacesFlipped && u.has(loose) || t.filesChanged && u.has(folders) {
			out = append(out, i)
		}
	}
	return out
}

func (u *unit) dependsOn(marked []bool, has func(uint32) bool) bool {
	for i := range u.uses {
		if marked[u.uses[i].name] {
			return true
		}
	}
	return slices.ContainsFunc(u.keys, has) || slices.ContainsFunc(u.via, has)
}

// trimFirst cuts a prefix off that another word follows: "TestShelf", not "Testing".
func trimFirst(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || rest == "" {
		return s, false
	}
	c := rest[0]
	return strings.TrimPrefix(rest, "_"), c == '_' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
