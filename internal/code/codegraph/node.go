package codegraph

import (
	"slices"
	"strings"
)

// Kind is the kind of a node, and the prefix of its ID.
type Kind string

// The kinds of nodes.
const (
	KindFile      Kind = "file"
	KindPackage   Kind = "package"   // Go, Java, Python, Rust
	KindNamespace Kind = "namespace" // C#, C++, TypeScript
	KindType      Kind = "type"      // struct, class, enum, record, alias, type that implements a trait
	KindInterface Kind = "interface" // interface, trait, protocol
	KindMethod    Kind = "method"
	KindProperty  Kind = "property" // field, property, member of an enum
	KindFunction  Kind = "function"
	KindVariable  Kind = "variable" // variable or constant at file level
	KindDecision  Kind = "adr"
)

// ID joins a kind and a qualified name into an ID.
func ID(k Kind, qualified string) string { return string(k) + ":" + qualified }

// Split splits an ID into its kind and its qualified name. ok is false for a text without the prefix of a kind.
func Split(id string) (k Kind, qualified string, ok bool) {
	prefix, rest, found := strings.Cut(id, ":")
	if numberOfKind(Kind(prefix)) == noKind {
		return "", id, false
	}
	return Kind(prefix), rest, found && rest != ""
}

// EdgeKind is the kind of a relation between two nodes. The first node of each comment below is the source.
type EdgeKind string

// The kinds of edges.
const (
	Defines    EdgeKind = "defines"     // from a file or type to its member
	Imports    EdgeKind = "imports"     // from a file to a package or file
	Inherits   EdgeKind = "inherits"    // from a type to its base or to what it embeds
	Implements EdgeKind = "implements"  // from a type to an interface
	References EdgeKind = "references"  // from a declaration to what it names
	Calls      EdgeKind = "calls"       // from a declaration to what it calls
	Tests      EdgeKind = "tests"       // from a test to what it tests
	DependsOn  EdgeKind = "depends_on"  // from a package to another one: the sum of its files' imports
	Governs    EdgeKind = "adr_governs" // from a decision to what it governs
)

// How says how an edge was found.
type How string

// The ways in which an edge is found.
const (
	Exact How = "exact" // by unambiguous syntax, by types, or by a compiler's index
	Guess How = "guess" // by a name that matches
)

// kindNo and edgeNo are the compact forms of Kind and EdgeKind; 0 means none.
type (
	kindNo uint8
	edgeNo uint8
)

const (
	noKind kindNo = iota
	kFile
	kPackage
	kNamespace
	kType
	kInterface
	kMethod
	kProperty
	kFunction
	kVariable
	kDecision
	kindCount
)

var kindNames = [kindCount]Kind{"", KindFile, KindPackage, KindNamespace, KindType, KindInterface, KindMethod, KindProperty, KindFunction, KindVariable, KindDecision}

func numberOfKind(k Kind) kindNo { return kindNo(max(slices.Index(kindNames[:], k), 0)) } //nolint:gosec // few kinds

// isScope reports whether nodes of this kind contain others: packages and namespaces.
func (k kindNo) isScope() bool { return k == kPackage || k == kNamespace }

func (k kindNo) member() bool { return k == kMethod || k == kProperty }

const (
	noEdge edgeNo = iota
	eDefines
	eImports
	eInherits
	eImplements
	eReferences
	eCalls
	eTests
	eDependsOn
	eGoverns
	edgeCount
)

var edgeNames = [edgeCount]EdgeKind{"", Defines, Imports, Inherits, Implements, References, Calls, Tests, DependsOn, Governs}

func numberOfEdge(k EdgeKind) edgeNo { return edgeNo(max(slices.Index(edgeNames[:], k), 0)) } //nolint:gosec // as above

// edgeSet is a set of edge kinds, one bit each.
type edgeSet uint16

func (s edgeSet) has(k edgeNo) bool { return s&(1<<k) != 0 }

// edgeSetOf ignores unknown kinds. An empty list means all kinds.
func edgeSetOf(kinds []EdgeKind) edgeSet {
	if len(kinds) == 0 {
		return 1<<edgeCount - 1
	}
	var s edgeSet
	for _, k := range kinds {
		s |= 1 << numberOfEdge(k)
	}
	return s &^ (1 << noEdge)
}

// kindPreference lists, for each kind of edge, the kinds of nodes to which a bare name may lead, the most likely first.
var kindPreference = [edgeCount][]kindNo{
	eInherits:   {kType, kInterface},
	eImplements: {kInterface, kType},
	eReferences: {kType, kInterface, kVariable, kFunction, kProperty, kMethod, kNamespace, kPackage},
	eCalls:      {kFunction, kMethod, kType, kVariable, kProperty, kInterface},
	eTests:      {kFunction, kType, kMethod, kInterface, kVariable},
	eImports:    {kPackage, kNamespace, kType, kInterface, kFunction, kVariable, kMethod, kProperty},
	eGoverns:    {kType, kInterface, kFunction, kMethod, kVariable, kProperty, kPackage, kNamespace},
}

// rank returns the index of a node kind among those that an edge prefers, or -1 if the edge can't lead to that kind.
func rank(e edgeNo, k kindNo) int { return slices.Index(kindPreference[e], k) }

// families maps languages to the family whose files use each other's names. Other languages are their own family.
var families = map[string]string{
	"typescript": "javascript", "tsx": "javascript", "jsx": "javascript", "vue": "javascript", "svelte": "javascript",
	"c": "c", "cpp": "c", "c++": "c", "objective-c": "c", "kotlin": "java", "scala": "java", "groovy": "java", "c#": "csharp",
}

// family returns the number of a language's family.
func (g *Graph) family(language string) uint8 {
	f := strings.ToLower(language)
	if of, ok := families[f]; ok {
		f = of
	}
	if i := slices.Index(g.fams, f); i >= 0 {
		return uint8(i)
	}
	if len(g.fams) == 255 {
		return 0
	}
	g.fams = append(g.fams, strings.Clone(f))
	return uint8(len(g.fams) - 1)
}

// moduleFiles lists, by family, the endings that can complete an import without an extension, or with the extension of
// the compiled file.
var moduleFiles = map[string][]string{
	"javascript": {".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte",
		"/index.ts", "/index.tsx", "/index.d.ts", "/index.js", "/index.jsx", "/index.mjs"},
	"python": {".py", ".pyi", "/__init__.py"},
	"rust":   {".rs", "/mod.rs", "/lib.rs"},
	"c":      {".h", ".hpp", ".hh", ".hxx"},
}

// compiled are extensions of compiled files that an import may name in place of the source file's.
var compiled = []string{".js", ".jsx", ".mjs", ".cjs"}

// indexStems are the stems of files that represent their folder.
var indexStems = map[string]bool{"index": true, "__init__": true, "mod": true, "lib": true}

// fileNames calls name with each name under which other files may refer to the file.
func fileNames(path string, name func(string)) {
	name(base(path))
	s := stem(path)
	name(s)
	if indexStems[s] {
		name(base(folder(path)))
	}
}

// keysOf returns hashes of the names that a unit's edges depend on in addition to those of its uses: names of its
// imports, of the types whose members it declares, and of what its tests may be for.
func (g *Graph) keysOf(u *unit) []uint32 {
	var keys []uint32
	add := func(s string) { keys = append(keys, hashName(s)) }
	text := func(x sym) string { return g.names.strs[x] }
	for i := range u.imports {
		im := &u.imports[i]
		switch q := text(im.target.qual); im.target.kind {
		case noKind:
		case kFile:
			fileNames(q, add)
			add(stem(text(im.path)))
		default:
			for n := 0; n < maxPrefixes && q != ""; n++ {
				add(lastPart(q))
				q = ownerOf(q)
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

// refinedKeys returns hashes of the names that refined edges depend on.
func (g *Graph) refinedKeys(edges []refinedEdge) []uint32 {
	var keys []uint32
	for i := range edges {
		for _, r := range []ref{edges[i].from, edges[i].to} {
			part := lastPart
			if r.kind == kFile {
				part = stem
			}
			keys = append(keys, hashName(part(g.names.strs[r.qual])))
		}
		if e := &edges[i]; e.kind == eImplements && e.to.kind == kInterface { // whether the node exists depends on the package, too
			keys = append(keys, hashName(lastPart(ownerOf(g.names.strs[e.to.qual]))))
		}
	}
	return keys
}

// declaredName is one name that a unit declares, with everything that decides what a use of the name means.
type declaredName struct {
	name  string
	node  ref
	shape uint32 // a hash of the other properties
}

// declaredNames calls count with each name that a unit declares; u may be nil. Names in files never refer to decisions.
func (g *Graph) declaredNames(u *unit, count func(declaredName)) {
	if u == nil || u.decision != nil {
		return
	}
	text := func(x sym) string { return g.names.strs[x] }
	shape := uint32(u.within.qual)<<8 ^ uint32(u.within.kind)<<4 ^ uint32(u.fam)<<24 ^ uint32(u.flags&forTests)<<2
	var locals []local
	own := ref{kFile, u.path}
	fileNames(text(u.path), func(s string) { count(declaredName{s, own, shape}) })
	if u.within.kind != noKind {
		count(declaredName{lastPart(text(u.within.qual)), u.within, shape})
	}
	for _, a := range u.aliases {
		count(declaredName{aliasKey + text(a.name), own, uint32(a.target)})
	}
	for i := range u.decls {
		d := &u.decls[i]
		if d.kind == noKind {
			continue
		}
		if d.typ != 0 {
			count(declaredName{typeKey + text(g.names.last[d.qual]), ref{d.kind, d.qual}, uint32(d.typ)})
		}
		m := declaredName{text(d.name), ref{d.kind, d.qual}, shape}
		if d.exported {
			m.shape ^= 1
		}
		count(m)
		if l := text(g.names.last[d.qual]); l != text(d.name) {
			m.name = l
			count(m)
		}
		if d.kind == kType || d.kind == kInterface {
			if m.shape = g.basesHash(u, int32(i), &locals); m.shape != 0 {
				m.name = basesKey + text(g.names.last[d.qual])
				count(m)
			}
		}
	}
}

// Keys for what can change while a declaration stays the same; the last part of a name follows.
const (
	basesKey = "<" // the bases of types
	aliasKey = "=" // aliases
	typeKey  = ">" // the types of values
)

// basesHash returns a hash of everything in a unit that decides what a declared type inherits from. A name that the
// file declares is replaced by its declaration. locals caches the unit's locals; they are computed if needed.
func (g *Graph) basesHash(u *unit, decl int32, locals *[]local) (h uint32) {
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
		if !p.partly {
			mix(uint32(p.kinds & inheritingUses))
		}
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

// difference adds the names whose meaning changes when unit b replaces a. a is nil for a new unit, b for a removed one.
func (g *Graph) difference(a, b *unit, changed map[string]bool) {
	count := map[declaredName]int{}
	g.declaredNames(a, func(m declaredName) { count[m]-- })
	g.declaredNames(b, func(m declaredName) { count[m]++ })
	for m, n := range count {
		if n != 0 {
			changed[m.name] = true
		}
	}
}

// affected returns the units whose edges may change because names have changed. It leaves out units for which skip
// returns true.
func (t *transaction) affected(changed map[string]bool, skip func(int32) bool) []int32 {
	if len(changed) == 0 && !t.scopesChanged && !t.filesChanged {
		return nil
	}
	marked := make([]bool, len(t.g.names.strs))
	hashes := make(map[uint32]bool, len(changed))
	for s := range changed {
		hashes[hashName(s)] = true
		if x, ok := t.g.names.findOwned(s); ok {
			marked[x] = true
		}
	}
	var low [1 << 16 / 64]uint64 // a fast filter by 16 bits of each hash
	for h := range hashes {
		low[h%(1<<16)/64] |= 1 << (h % 64)
	}
	has := func(h uint32) bool { return low[h%(1<<16)/64]&(1<<(h%64)) != 0 && hashes[h] }
	for x, last := range t.g.names.last {
		marked[x] = marked[last] || marked[x]
	}
	var out []int32
	for i, u := range t.v.all {
		if skip(i) {
			continue
		}
		if slices.ContainsFunc(u.uses, func(x use) bool { return marked[x.name] }) || slices.ContainsFunc(u.keys, has) || slices.ContainsFunc(u.memberTypes, has) ||
			t.scopesChanged && u.has(usesSuffixes) || t.filesChanged && u.has(folders) {
			out = append(out, i)
		}
	}
	return out
}

// trimFirst removes a prefix that is followed by the beginning of another word: in "TestShelf", but not in "Testing".
func trimFirst(s, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || rest == "" {
		return s, false
	}
	c := rest[0]
	return strings.TrimPrefix(rest, "_"), c == '_' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
