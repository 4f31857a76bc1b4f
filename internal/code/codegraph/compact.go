package codegraph

import (
	"cmp"
	"io/fs"
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
	if !u.within.kind.space() {
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
			sig, doc := line200(d.Signature), line200(d.Doc)
			x.sig, x.doc = uint8(len(sig)), uint8(len(doc))
			b.WriteString(sig + "\n" + doc + "\n")
		}
		out = append(out, x)
	}
	u.text = b.String()
	u.decls = out
	withholdSecrets(u, first)
}

// line200 is a text in one line, of at most maxText bytes.
func line200(s string) string {
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
		o := use{from: -1, name: g.names.intern(name), meta: useMeta(min(max(x.Line, 0), maxLine))<<useBits | useMeta(kind)}
		if x.From >= 0 && x.From < decls {
			o.from = int32(x.From)
		}
		switch {
		case member:
			o.meta |= useMember
		case x.Qualified:
			o.meta |= useQualified
		}
		out = append(out, o)
	}
	const how = 1<<useBits - 1
	slices.SortFunc(out, func(a, b use) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.meta&how, b.meta&how), cmp.Compare(a.name, b.name), cmp.Compare(a.meta, b.meta))
	})
	out = slices.CompactFunc(out, func(a, b use) bool { return a.from == b.from && a.name == b.name && a.meta&how == b.meta&how })
	return slices.Clip(slices.Clone(out))
}
