package codegraph

import (
	"bytes"
	"cmp"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kenlayer/ken/guardrail"
)

const (
	maxName     = 512 // bytes of a name; a longer one is no name
	maxText     = 200 // bytes of a signature, or of a comment
	maxProblems = 20  // of a file
)

// validPath reports whether a path stays below its root.
func validPath(p string) bool {
	return p != "." && len(p) <= 4096 && fs.ValidPath(p) && utf8.ValidString(p)
}

func validName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsAny(s, "\n\r\x00")
}

// fixture reports a file that is there for tests to read, by the folders that are called
// so: what it declares is no part of the program.
func fixture(p string) bool {
	return strings.Contains("/"+p, "/testdata/") || strings.Contains("/"+p, "/__fixtures__/")
}

// compact keeps of a file what the graph needs. What can't be, such as a declaration
// without a name, is left out.
func (g *Graph) compact(f *File) *unit {
	n := g.names
	u := &unit{path: n.intern(f.Path), hash: strings.Clone(f.Hash), lang: n.intern(f.Language), fam: g.family(f.Language), home: -1}
	if f.Generated {
		u.flags |= generated
	}
	if f.Test || fixture(f.Path) {
		u.flags |= forTests
	}
	u.within = g.refOf(f.Within)
	if !u.within.kind.isScope() {
		u.within = ref{}
	}
	for _, s := range f.Scopes {
		if validName(s) {
			u.scopes = append(u.scopes, n.intern(s))
		}
	}
	for i := range f.Imports {
		im := &f.Imports[i]
		x := imp{target: g.refOf(im.Target), line: int32(im.Line)}
		if validName(im.Path) {
			x.path = n.intern(im.Path)
		}
		if x.target.kind != noKind || x.path != 0 { // without a target, it waits for what it means
			u.imports = append(u.imports, x)
		}
	}
	g.compactDecls(u, f.Decls)
	u.aliases = g.compactAliases(f.Aliases)
	u.uses = g.compactUses(f.Uses, len(f.Decls))
	u.probs = slices.Clone(f.Problems[:min(len(f.Problems), maxProblems)])
	u.keys = g.keysOf(u)
	return u
}

// refOf reads an ID; one that is none becomes the zero ref.
func (g *Graph) refOf(id string) ref {
	k, qual, ok := Split(id)
	if !ok || !validName(qual) {
		return ref{}
	}
	return ref{numberOfKind(k), g.names.intern(qual)}
}

// compactDecls adds declarations to a unit. Their parents are places among themselves.
func (g *Graph) compactDecls(u *unit, decls []Decl) {
	first := len(u.decls)
	out := make([]decl, first, first+len(decls))
	copy(out, u.decls)
	var b strings.Builder
	b.WriteString(u.text)
	for i := range decls {
		d := &decls[i]
		x := decl{parent: -1, text: uint32(b.Len()), line: int32(min(max(d.Line, 0), maxLine)), end: int32(min(max(d.End, d.Line, 0), maxLine)), exported: d.Exported, kind: numberOfKind(d.Kind)}
		if d.Parent >= 0 && d.Parent < len(decls) && d.Parent != i {
			x.parent = int32(first + d.Parent)
		}
		name := cmp.Or(d.Name, lastPart(d.Qualified))
		if x.kind == kFile || x.kind == kDecision || !validName(d.Qualified) || !validName(name) {
			x.kind = noKind
		}
		if x.kind != noKind {
			x.name, x.qual = g.names.intern(name), g.names.intern(d.Qualified)
			if validName(d.Type) {
				x.typ = g.names.intern(d.Type)
			}
			sig, doc := clipLine(d.Signature), clipLine(d.Doc)
			x.sig, x.doc = uint8(len(sig)), uint8(len(doc))
			b.WriteString(sig + "\n" + doc + "\n")
		}
		out = append(out, x)
	}
	u.text = b.String()
	u.decls = out
	withholdSecrets(u, first)
}

// clipLine is a text in one line, of at most maxText bytes.
func clipLine(s string) string {
	if strings.ContainsAny(s, "\n\r\t") || !utf8.ValidString(s) {
		s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	}
	if len(s) <= maxText {
		return s
	}
	n := maxText - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// withholdSecrets drops the signatures and comments that hold secrets: a constant's
// value may be one.
func withholdSecrets(u *unit, first int) {
	found := guardrail.Secrets(u.text)
	if len(found) == 0 {
		return
	}
	for _, f := range found {
		for i := first; i < len(u.decls); i++ {
			d := &u.decls[i]
			if from := int(d.text); from < f.End && f.Start < from+int(d.sig)+1+int(d.doc) {
				d.sig, d.doc = 0, 0
			}
		}
	}
	var b strings.Builder // not even in memory, let alone in a file
	for i := range u.decls {
		d := &u.decls[i]
		sig, doc := u.signature(d), u.comment(d)
		d.text = uint32(b.Len())
		b.WriteString(sig + "\n" + doc + "\n")
	}
	u.text = b.String()
}

func (u *unit) signature(d *decl) string { return u.text[d.text:][:d.sig] }

func (u *unit) comment(d *decl) string {
	if d.doc == 0 {
		return ""
	}
	return u.text[int(d.text)+int(d.sig)+1:][:d.doc]
}

func (g *Graph) compactAliases(list []Alias) []alias {
	if len(list) == 0 {
		return nil
	}
	out := make([]alias, 0, len(list))
	for _, a := range list {
		if validName(a.Name) && validName(a.Target) {
			out = append(out, alias{g.names.intern(a.Name), g.names.intern(a.Target)})
		}
	}
	slices.SortFunc(out, func(a, b alias) int {
		return cmp.Or(strings.Compare(g.names.strs[a.name], g.names.strs[b.name]), strings.Compare(g.names.strs[a.target], g.names.strs[b.target]))
	})
	return slices.Clip(slices.Compact(out))
}

// compactUses keeps each name once for each declaration that uses it in one way.
func (g *Graph) compactUses(uses []Use, decls int) []use {
	out := make([]use, 0, len(uses))
	for i := range uses {
		x := &uses[i]
		kind := numberOfEdge(x.Kind)
		name, member := strings.CutPrefix(x.Name, ".")
		if kind < eInherits || kind > eTests || !validName(name) {
			continue
		}
		o := use{from: -1, name: g.names.intern(name), meta: useMeta(min(max(x.Line, 0), maxLine))<<useBits | useMeta(kind), times: uint16(min(max(x.Times, 1), math.MaxUint16))}
		if x.From >= 0 && x.From < decls {
			o.from = int32(x.From)
		}
		switch {
		case member:
			o.meta |= useMember
		case x.Qualified && x.Typed:
			o.meta |= useQualified | useTyped
		case x.Qualified:
			o.meta |= useQualified
		}
		out = append(out, o)
	}
	const how = 1<<useBits - 1
	slices.SortFunc(out, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.meta&how, b.meta&how), cmp.Compare(a.name, b.name), cmp.Compare(a.meta, b.meta))
	})
	once := out[:0]
	for _, x := range out {
		if n := len(once) - 1; n >= 0 && once[n].from == x.from && once[n].name == x.name && once[n].meta&how == x.meta&how {
			once[n].times = addTimes(once[n].times, x.times)
			continue
		}
		once = append(once, x)
	}
	return slices.Clip(slices.Clone(once))
}

func addTimes(a, b uint16) uint16 { return uint16(min(int(a)+int(b), math.MaxUint16)) }

// Pruned lists what goes, or would go.
type Pruned struct {
	Files     []string `json:"files"`     // paths that are no more
	Decisions []string `json:"decisions"` // IDs of those whose files are no more
	Nodes     []string `json:"nodes"`     // IDs that nothing else declares, those of the files and decisions included
	External  []string `json:"external"`  // IDs of packages that nothing else imports, and of interfaces that nothing else implements
}

// Prune finds the files and decisions in the graph whose files exist no longer, and what
// goes with them, by ID and path; with apply, it takes them out, and gives back the
// memory that texts take which nothing uses any more. Decisions without a path stay.
func (g *Graph) Prune(exists func(path string) bool, apply bool) Pruned {
	if apply {
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	v := g.View()
	gone := map[int32]bool{}
	var p Pruned
	for i := range v.units.n {
		u := v.unit(i)
		if u == nil || u.decision != nil && u.decision.Path == "" {
			continue
		}
		path := v.text(u.path)
		if u.decision != nil {
			path = u.decision.Path
		}
		switch {
		case exists(path):
			continue
		case u.decision != nil:
			p.Decisions = append(p.Decisions, u.decision.ID)
		default:
			p.Files = append(p.Files, path)
		}
		gone[i] = true
	}
	if len(gone) > 0 {
		p.Nodes, p.External = v.without(gone)
	}
	slices.Sort(p.Files)
	slices.Sort(p.Decisions)
	if apply {
		g.drop(gone)
	}
	return p
}

// without lists the nodes that are only there because of some units.
func (v *View) without(gone map[int32]bool) (nodes, external []string) {
	for _, i := range v.sorted() {
		n := v.nodes.at(i)
		stays := slices.ContainsFunc(n.places, func(p place) bool { return p.decl != onlyEdges && !gone[p.unit] })
		used := slices.ContainsFunc(n.in, func(e inEdge) bool { return !gone[e.unit] })
		switch {
		case stays || used && (n.kind.isScope() || n.flags&inRepo == 0):
		case n.flags&inRepo == 0:
			external = append(external, v.id(i))
		default:
			nodes = append(nodes, v.id(i))
		}
	}
	return nodes, external
}

// drop takes units out, and then gives unused texts back. The caller holds g.mu.
func (g *Graph) drop(gone map[int32]bool) {
	if len(gone) > 0 {
		t := g.begin()
		for i := range gone {
			t.put(i, nil)
		}
		t.commit()
	}
	g.rebuildIfSparse()
}

// rebuildIfSparse makes the graph anew when most of its texts are unused, unless a Build has numbers
// of them in its hands.
func (g *Graph) rebuildIfSparse() {
	v := g.View()
	if g.building > 0 {
		return
	}
	s := newSaver(v)
	if len(v.strs) < 2*len(s.names)+1000 {
		return
	}
	var b bytes.Buffer
	if err := v.Save(&b); err != nil {
		return // the graph is as good as it was
	}
	other, err := Load(&b)
	if err != nil {
		return
	}
	w := *other.View()
	w.version = v.version + 1
	g.names, g.fams = other.names, other.fams
	g.view.Store(&w)
}

// unit is what one file says, or one decision, and the edges that follow from it. One
// that is published does not change: a change makes another.
type unit struct {
	path    sym
	hash    string
	lang    sym
	fam     uint8 // number of the language's family
	flags   unitFlags
	within  ref
	scopes  []sym
	decls   []decl
	imports []imp
	aliases []alias // by name
	uses    []use
	text    string // the signatures and comments of all decls
	probs   []Problem

	keys     []uint32 // hashes of further names that its edges depend on
	refined  []refined
	decision *Decision // nil for a file
	stat     stat

	// What the graph made of it.
	node         int32   // of the file, or the decision
	home         int32   // of within; -1 for none
	nodes        []int32 // of decls; -1 for what is left out
	edges        []edge  // by from, to and kind
	foreignNodes []int32 // nodes with edges here that are not declared here

	memberTypes []uint32 // as keys, of the types in which members were looked for
	unresolved  []string // targets of the decision that lead nowhere
}

type unitFlags uint8

const (
	generated unitFlags = 1 << iota
	forTests
	headOnly     // too large, or generated: only its imports count
	usesSuffixes // some name of it was looked for as the end of a longer one
	folders      // a decision that names a folder
)

func (u *unit) has(f unitFlags) bool { return u.flags&f != 0 }

// ref is an ID.
type ref struct {
	kind kindNo
	qual sym
}

type decl struct {
	name, qual sym
	typ        sym   // qualified name of the type of a value, or of what a function returns; 0 for unknown
	parent     int32 // in unit.decls; -1 for none
	line, end  int32
	text       uint32 // where its signature begins in unit.text; the comment follows
	sig, doc   uint8  // bytes
	kind       kindNo // noKind for one that is left out
	exported   bool
}

type imp struct {
	path   sym // as it is written
	target ref
	line   int32
}

// alias is a name of a module for something that is declared elsewhere.
type alias struct{ name, target sym }

// use is one name used by one declaration in one way, at its first line.
type use struct {
	from  int32 // in unit.decls; -1 for the file
	name  sym   // without the dot of a member
	meta  useMeta
	times uint16
}

// useMeta is the line, how the name is meant, and the kind of the edge.
type useMeta uint32

const (
	useQualified useMeta = 1 << 4
	useMember    useMeta = 1 << 5
	useTyped     useMeta = 1 << 6 // with useQualified: over the types of values
	useBits              = 7
	maxLine              = 1<<25 - 1
)

func (m useMeta) line() int32  { return int32(m >> useBits) }
func (m useMeta) kind() edgeNo { return edgeNo(m & 15) }

// edge goes from a node to another, because of what its unit says.
type edge struct {
	from, to int32
	meta     edgeMeta
	times    uint16 // how many places there are; 0 when nobody counted
}

// edgeMeta is the line, and whether the edge is a guess: the smaller of two of one
// kind is the better one.
type edgeMeta uint32

const guessed edgeMeta = 1 << 31

func (m edgeMeta) kind() edgeNo { return edgeNo(m & 15) }
func (m edgeMeta) line() int32  { return int32(m &^ guessed >> 4) }

func (m edgeMeta) how() How {
	if m&guessed != 0 {
		return Guess
	}
	return Exact
}

func metaOf(k edgeNo, line int32, guess bool) edgeMeta {
	m := edgeMeta(min(max(line, 0), maxLine))<<4 | edgeMeta(k)
	if guess {
		m |= guessed
	}
	return m
}

// compareEdges orders by from, to and kind, the better of two of a kind first.
func compareEdges(a, b edge) int {
	switch {
	case a.from != b.from:
		return int(a.from) - int(b.from)
	case a.to != b.to:
		return int(a.to) - int(b.to)
	case a.meta.kind() != b.meta.kind():
		return int(a.meta.kind()) - int(b.meta.kind())
	case a.meta < b.meta:
		return -1
	case a.meta > b.meta:
		return 1
	}
	return 0
}

// refined is what one source says better of a unit.
type refined struct {
	source string
	kinds  edgeSet
	partly bool   // as in Refinement
	decls  []Decl // they follow the unit's own in unit.decls
	edges  []refinedEdge
}

type refinedEdge struct {
	from, to ref
	kind     edgeNo
	line     int32
	times    uint16
}

// stat tells whether a file has to be read again.
type stat struct{ size, modTime, readAt int64 } // bytes; nanoseconds since 1970

// stem is a file's name up to its first dot that is not the first character: what
// files that stand for each other have in common.
func stem(path string) string {
	b := base(path)
	for i := 1; i < len(b); i++ {
		if b[i] == '.' {
			return b[:i]
		}
	}
	return b
}

func base(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}

// folder is the path without its last element, and "" at the top.
func folder(path string) string {
	if b := base(path); len(b) < len(path) {
		return path[:len(path)-len(b)-1]
	}
	return ""
}

// hashName is FNV-1a: it says which names a unit depends on without keeping them.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
