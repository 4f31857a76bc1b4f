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
	maxName     = 512 // bytes of a name; a longer text is not a name
	maxText     = 200 // bytes of a signature or a comment
	maxProblems = 20  // per file
)

// validPath reports whether p is a path below the root of the repository.
func validPath(p string) bool {
	return p != "." && len(p) <= 4096 && fs.ValidPath(p) && utf8.ValidString(p)
}

func validName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsAny(s, "\n\r\x00")
}

// isTestData reports whether a path is in a folder of test data. Declarations there are not part of the program.
func isTestData(p string) bool {
	return strings.Contains("/"+p, "/testdata/") || strings.Contains("/"+p, "/__fixtures__/")
}

// compact makes the unit of a file. It leaves out what the graph can't hold, such as a declaration without a name.
func (g *Graph) compact(f *File) *unit {
	n := g.names
	u := &unit{path: n.intern(f.Path), hash: strings.Clone(f.Hash), lang: n.intern(f.Language), fam: g.family(f.Language), home: -1}
	if f.Generated {
		u.flags |= generated
	}
	if f.Test || isTestData(f.Path) {
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
		if x.target.kind != noKind || x.path != 0 { // without a target, only the written path is known
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

// refOf parses an ID. It returns the zero ref for an invalid one.
func (g *Graph) refOf(id string) ref {
	k, qual, ok := Split(id)
	if !ok || !validName(qual) {
		return ref{}
	}
	return ref{numberOfKind(k), g.names.intern(qual)}
}

// compactDecls appends declarations to a unit. Decl.Parent is an index in decls and becomes one in u.decls.
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
			sig, doc := Clip(d.Signature), Clip(d.Doc)
			x.sig, x.doc = uint8(len(sig)), uint8(len(doc))
			b.WriteString(sig + "\n" + doc + "\n")
		}
		out = append(out, x)
	}
	u.text = b.String()
	u.decls = out
	withholdSecrets(u, first)
}

// Clip returns a text as one line of at most 200 bytes.
func Clip(s string) string {
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

// withholdSecrets drops signatures and comments that contain secrets, such as a constant with a secret value. It checks
// the declarations from index first on.
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
	var b strings.Builder // the secrets must not stay in memory, either
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

// compactUses keeps one entry for each declaration, name and way of use, with the number of uses.
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

// Pruned lists what Prune removed, or would remove without apply.
type Pruned struct {
	Files     []string `json:"files"`     // paths of files that no longer exist
	Decisions []string `json:"decisions"` // IDs of decisions whose files no longer exist
	Nodes     []string `json:"nodes"`     // IDs that nothing else declares, including those of the files and decisions
	External  []string `json:"external"`  // IDs of packages that nothing else imports, and of interfaces that nothing else implements
}

// Prune finds the files and decisions in the graph whose files no longer exist, and the nodes that only they declare.
// The lists are ordered by path and ID. With apply, Prune removes them and frees the memory of unused texts. Decisions
// without a path stay.
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
		p.Nodes, p.External = v.onlyIn(gone)
	}
	slices.Sort(p.Files)
	slices.Sort(p.Decisions)
	if apply {
		g.drop(gone)
	}
	return p
}

// onlyIn lists the nodes that would have no reason to exist without the given units.
func (v *View) onlyIn(gone map[int32]bool) (nodes, external []string) {
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

// drop removes units and then frees unused texts. The caller holds g.mu.
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

// rebuildIfSparse rebuilds the graph when most of its texts are unused. It does nothing while a Build runs, because a
// Build holds numbers of texts.
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
		return // the graph stays valid as it is
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

// unit holds what one file or decision says, and the edges that follow from it. A published unit is immutable: a change
// makes a new one.
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

	keys     []uint32 // hashes of further names that the edges depend on
	refined  []refined
	decision *Decision // nil for a file
	stat     stat

	// What the graph computed from it.
	node         int32   // node of the file or the decision
	home         int32   // node of within; -1 for none
	nodes        []int32 // nodes of decls; -1 for a declaration that is left out
	edges        []edge  // sorted by from, to and kind
	foreignNodes []int32 // nodes that have edges here but are not declared here

	memberTypes []uint32 // hashes, as in keys, of types whose members were looked up and of other names met on the way
	unresolved  []string // targets of the decision that match nothing
}

type unitFlags uint8

const (
	generated unitFlags = 1 << iota
	forTests
	headOnly     // too large, or generated: only its imports are kept
	usesSuffixes // a name in it was searched for as the end of a longer name
	folders      // a decision with a target that may be a folder
)

func (u *unit) has(f unitFlags) bool { return u.flags&f != 0 }

// ref is an ID in compact form.
type ref struct {
	kind kindNo
	qual sym
}

type decl struct {
	name, qual sym
	typ        sym   // qualified name of a value's type or a function's result type; 0 if unknown
	parent     int32 // index in unit.decls; -1 for none
	line, end  int32
	text       uint32 // where its signature begins in unit.text; the comment follows
	sig, doc   uint8  // lengths in bytes
	kind       kindNo // noKind for a declaration that is left out
	exported   bool
}

type imp struct {
	path   sym // as written in the source
	target ref
	line   int32
}

// alias is a name in a module for something that is declared elsewhere.
type alias struct{ name, target sym }

// use is one name that one declaration uses in one way, at the first line.
type use struct {
	from  int32 // index in unit.decls; -1 for the file
	name  sym   // without the leading dot of a member
	meta  useMeta
	times uint16
}

// useMeta holds the line, how the name is written, and the kind of the edge.
type useMeta uint32

const (
	useQualified useMeta = 1 << 4
	useMember    useMeta = 1 << 5
	useTyped     useMeta = 1 << 6 // with useQualified: the name is resolved through the types of values
	useBits              = 7
	maxLine              = 1<<25 - 1
)

func (m useMeta) line() int32  { return int32(m >> useBits) }
func (m useMeta) kind() edgeNo { return edgeNo(m & 15) }

// edge goes from one node to another. The unit that holds it is its source.
type edge struct {
	from, to int32
	meta     edgeMeta
	times    uint16 // number of places; 0 if not counted
}

// edgeMeta holds the line, the kind, and whether the edge is a guess. Of two edges of one kind, the one with the
// smaller edgeMeta is the better one.
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

// compareEdges orders edges by from, to and kind; of one kind, the better edge comes first.
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

// refined is a Refinement of one unit by one source.
type refined struct {
	source string
	kinds  edgeSet
	partly bool   // as in Refinement
	decls  []Decl // stored after the unit's own in unit.decls
	edges  []refinedEdge
}

type refinedEdge struct {
	from, to ref
	kind     edgeNo
	line     int32
	times    uint16
}

// stat is the state of a file when it was read. It decides whether the file has to be read again.
type stat struct{ size, modTime, readAt int64 } // size in bytes; times in nanoseconds since 1970

// stem returns a file's name up to its first dot, ignoring a dot at the very beginning. Related files, such as a header
// and its source, have the same stem.
func stem(path string) string {
	b := base(path)
	if name, _, ok := strings.Cut(b[min(1, len(b)):], "."); ok {
		return b[:1+len(name)]
	}
	return b
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// folder returns the path without its last element; "" for a path of one element.
func folder(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// hashName returns the FNV-1a hash of a name. Units store hashes of the names that they depend on to save memory.
func hashName(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}
