package codegraph

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"
)

// File is what one source file says, read by itself.
type File struct {
	Path      string // from the root of the repository, with slashes
	Hash      string // of the content: "sha256:" and hex, as evidence has it
	Language  string // as in "go", "typescript", "python"
	Generated bool   // a program wrote it, and says so
	Test      bool   // it holds tests

	// Within is the node that the file belongs to, by ID: its package or namespace;
	// empty where the file is its own scope.
	Within string

	// Scopes are what a bare name may belong to beside the file itself, as qualified
	// prefixes without the last dot, nearest first: the own package, then what is
	// imported whole ("import static x.*", "from x import *", "using N", "use m::*").
	Scopes []string

	Decls   []Decl
	Imports []Import
	Aliases []Alias
	Uses    []Use

	// Problems are places that could not be read. What was declared elsewhere in the
	// file counts all the same.
	Problems []Problem
}

// Decl is something that a file declares.
type Decl struct {
	Kind      Kind
	Name      string // the last part of Qualified
	Qualified string
	Parent    int    // place in File.Decls of the declaration around it; -1 for none
	Line, End int    // from 1, both included
	Exported  bool   // visible outside of its package, namespace or file
	Signature string // in one line, at most 200 bytes: "func (l Line) Total() Money"
	Doc       string // the first sentence of its comment, at most 200 bytes

	// Type is the type of a value, or what a function returns, as far as the file tells: a qualified name, which
	// may lead over others, as that of a Typed Use does. Empty when unknown.
	Type string
}

// Alias is a name that a module has of something declared elsewhere, because it imports it or hands it on.
type Alias struct {
	Name   string // in the module; "*" for every name of the module Target
	Target string // a qualified name, or that of a module
}

// Import is what a file imports.
type Import struct {
	Path   string // as it is written
	Name   string // by which it is known in the file; empty for the usual one, or none
	Target string // ID of a package, namespace or file of any repository: "package:fmt", "file:src/util.ts"; empty when unknown
	Line   int
}

// Use is a name that a file uses.
type Use struct {
	From int // place in File.Decls of the innermost declaration around it; -1 for the file
	Kind EdgeKind

	// Name is what is used: a qualified name ("example.com/shop/cart.New"), when
	// Qualified is set; else a bare name, looked for in the file, in its Scopes, and
	// then where it is unique; or, with a leading dot, a member of something whose type
	// is not known (".Total").
	Name      string
	Qualified bool
	Line      int

	// Typed says that a qualified Name leads over values, by their types: if app is of the type Shop, then
	// "mod.app.cart.total" may be Cart.total. If nobody knows the type, a call counts as that of
	// a member of unknown type.
	Typed bool
	Times int // how often the declaration uses it; 0 and 1 mean once
}

// Problem is a place that could not be read.
type Problem struct {
	Line int // 0 for the file
	Text string
}

// Extractor reads one file. It is a pure function of its arguments, safe for
// concurrent use, and does not panic on any content; what it can't read is a
// Problem. The result shares no memory with src. Hash is left to the caller.
type Extractor func(path string, src []byte) File

// Refinement holds edges from a more exact source, such as a type checker: in place of the edges
// that the graph found of those kinds for those files.
type Refinement struct {
	Source string     // who says so: "types", "scip"; a later one of the same source replaces the earlier for its files
	Kinds  []EdgeKind // what it is complete for
	Partly bool       // it is complete only for names of which it says something: others are still found by the graph
	Files  []RefinedFile
}

// RefinedFile is what a Refinement says of one file. It counts as long as the file has
// this hash.
type RefinedFile struct {
	Path, Hash string
	Decls      []Decl // declarations that the extractor of names did not find, if any
	Edges      []RefinedEdge
}

// RefinedEdge goes from and to IDs. One that does not exist is made when it is that of a
// package, or of an interface of Go's standard library that a type implements; otherwise
// the edge is left out.
type RefinedEdge struct {
	From, To string
	Kind     EdgeKind
	Line     int
	Times    int // how many places there are; 0 when nobody counted
}

// errDamaged is the error of every decoder.
var errDamaged = errors.New("damaged")

// encoder writes numbers in as few bytes as they need, and texts with their lengths.
type encoder struct{ b []byte }

func (e *encoder) u(n uint64)    { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) i(n int64)     { e.b = binary.AppendVarint(e.b, n) }
func (e *encoder) n(n int)       { e.u(uint64(n)) }
func (e *encoder) text(s string) { e.n(len(s)); e.b = append(e.b, s...) }
func (e *encoder) flag(b bool)   { e.u(map[bool]uint64{true: 1}[b]) }
func (e *encoder) texts(s []string) {
	e.n(len(s))
	for _, x := range s {
		e.text(x)
	}
}

// decoder reads what an encoder wrote. After a fault everything is zero, and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) u() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		x := uint64(d.b[0])
		d.b = d.b[1:]
		return x
	}
	x, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return x
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

func (d *decoder) i() int64 {
	x := d.u()
	return int64(x>>1) ^ -int64(x&1)
}

// upTo is a number of at most max.
func (d *decoder) upTo(max uint64) uint64 {
	x := d.u()
	if x > max {
		d.fail()
		return 0
	}
	return x
}

// n is the number of things that follow, which have a byte each at least.
func (d *decoder) n() int {
	x := d.u()
	if x > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(x)
}

func (d *decoder) flag() bool { return d.upTo(1) == 1 }

// text shares the memory that is decoded.
func (d *decoder) text() string {
	n := d.n()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) texts() []string {
	var out []string
	for range d.n() {
		out = append(out, d.text())
	}
	return out
}

// Stamp says which state of a file the graph knows.
type Stamp struct {
	Size    int64 // bytes
	ModTime time.Time
	ReadAt  time.Time
}

// Stamp returns the state in which a file was read, by its path; false for one that is not
// in the graph, or of which only the name was looked at.
func (v *View) Stamp(path string) (Stamp, bool) {
	i := v.fileUnit(path)
	if i < 0 {
		return Stamp{}, false
	}
	s := v.unit(i).stat
	if s == (stat{}) {
		return Stamp{}, false
	}
	return Stamp{Size: s.size, ModTime: time.Unix(0, s.modTime).UTC(), ReadAt: time.Unix(0, s.readAt).UTC()}, true
}

// Hash returns the hash of a file's content as the graph knows it, by its path; "" for
// one that is not in the graph, or of which only the name was looked at.
func (v *View) Hash(path string) string {
	i := v.fileUnit(path)
	if i < 0 {
		return ""
	}
	return v.unit(i).hash
}

// Holds reports whether the graph has a file at a path, or below it.
func (v *View) Holds(path string) bool {
	if v.fileUnit(path) >= 0 {
		return true
	}
	for i := range v.units.n {
		if u := v.unit(i); u != nil && u.decision == nil {
			if rest, ok := strings.CutPrefix(v.text(u.path), path); ok && strings.HasPrefix(rest, "/") {
				return true
			}
		}
	}
	return false
}

// versions are what a saved graph depends on beside the files: how it is written, and what
// is said of a file by the package that reads it. All of them are at the head of a saved
// graph, and Load takes none that has others: it would hold what nobody says any more
// for as long as the files don't change.
//
// Whoever changes what a package says of the same file raises its number here.
// TestVersions fails until then. An Extractor of somebody else's is not watched: who
// changes one builds the graph anew.
var versions = []version{
	{"format", 3}, // of the file
	{"codegraph", 4},
	{"codegraph/golang", 3},
	{"codegraph/lexed", 2},
	{"codegraph/scip", 4},
	{"codegraph/typed", 3},
}

type version struct {
	of string
	n  uint64
}
