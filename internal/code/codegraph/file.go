package codegraph

import (
	"strings"
	"time"
)

// File holds the declarations, imports and uses of one source file. It is read without looking at other files.
type File struct {
	Path      string // from the root of the repository, with slashes
	Hash      string // of the content: "sha256:" and hex digits, as in ken.Evidence
	Language  string // as in "go", "typescript", "python"
	Generated bool   // a program wrote it, as its header says
	Test      bool   // it contains tests

	// Within is the ID of the package or namespace that the file belongs to. It is empty where each file is its own
	// scope.
	Within string

	// Scopes are the qualified prefixes, without the last dot, under which a bare name is looked up after the file
	// itself, nearest first: the file's package, then what is imported as a whole ("import static x.*", "from x import
	// *", "using N", "use m::*").
	Scopes []string

	Decls   []Decl
	Imports []Import
	Aliases []Alias
	Uses    []Use

	// Problems are places that could not be read. Declarations elsewhere in the file are still valid.
	Problems []Problem
}

// Decl is something that a file declares.
type Decl struct {
	Kind      Kind
	Name      string // the last part of Qualified
	Qualified string
	Parent    int    // index in File.Decls of the enclosing declaration; -1 for none
	Line, End int    // counted from 1, both inclusive
	Exported  bool   // visible outside its package, namespace or file
	Signature string // on one line, at most 200 bytes: "func (l Line) Total() Money"
	Doc       string // the first sentence of its comment, at most 200 bytes

	// Type is the type of a value, or the result type of a function, if the file states it. It is a qualified name,
	// which may go through values like that of a Typed Use. Empty if unknown.
	Type string
}

// Alias is a name in a module for something declared elsewhere, which the module imports or re-exports.
type Alias struct {
	Name   string // in the module; "*" for every name of the module Target
	Target string // a qualified name of a declaration or a module
}

// Import is an import of a package, namespace or file, or of a name in one.
type Import struct {
	Path   string // as written in the source
	Name   string // name in the file; empty for the default name, or for none
	Target string // ID of a package, namespace or file, also of another repository: "package:fmt", "file:src/util.ts"; empty if unknown
	Line   int
}

// Use is a name that a file uses.
type Use struct {
	From int // index in File.Decls of the innermost enclosing declaration; -1 for the file
	Kind EdgeKind

	// Name takes three forms. With Qualified, it is a qualified name: "example.com/shop/cart.New". With a leading dot,
	// it is a member of a value of unknown type: ".Total". Otherwise it is a bare name, which is looked up in the file,
	// then in its Scopes, and then in the repository, where it must be unique.
	Name      string
	Qualified bool
	Line      int

	// Typed says that a qualified Name goes through values and is resolved by their types. If app has the type Shop,
	// then "mod.app.cart.total" may mean Cart.total. If a type is unknown, a call is treated as a call of a member of
	// unknown type.
	Typed bool
	Times int // number of uses in the declaration; 0 and 1 mean one
}

// Problem is a place that could not be read.
type Problem struct {
	Line int // 0 for the whole file
	Text string
}

// Extractor reads one file. It depends only on its arguments, is safe for concurrent use, and does not panic on any
// content. What it can't read becomes a Problem. The result shares no memory with src. The caller sets Hash.
type Extractor func(path string, src []byte) File

// Refinement holds edges from a more exact source, such as a type checker. For its files and kinds, they replace the
// edges that the graph resolved from names.
type Refinement struct {
	Source string     // name of the source: "types", "scip"; a later Refinement of one source replaces its earlier ones, file by file
	Kinds  []EdgeKind // kinds for which it is complete
	Partly bool       // it covers only the names that it mentions; the graph resolves the others
	Files  []RefinedFile
}

// RefinedFile is the part of a Refinement for one file. It is valid as long as the file has this hash.
type RefinedFile struct {
	Path, Hash string
	Decls      []Decl // declarations that the extractor did not find, if any
	Edges      []RefinedEdge
}

// RefinedEdge goes from one ID to another. A missing node is added if it is a package, or an interface of Go's standard
// library that a type implements. Otherwise the edge is left out.
type RefinedEdge struct {
	From, To string
	Kind     EdgeKind
	Line     int
	Times    int // number of places; 0 if not counted
}

// Stamp is the state of a file when the graph read it.
type Stamp struct {
	Size    int64 // bytes
	ModTime time.Time
	ReadAt  time.Time
}

// Stamp returns the state in which a file was read, by its path. It returns false for a file that is not in the graph
// or whose content was not read.
func (v *View) Stamp(path string) (Stamp, bool) {
	i := v.fileUnit(path)
	if i < 0 || v.unit(i).stat == (stat{}) {
		return Stamp{}, false
	}
	s := v.unit(i).stat
	return Stamp{Size: s.size, ModTime: time.Unix(0, s.modTime).UTC(), ReadAt: time.Unix(0, s.readAt).UTC()}, true
}

// Hash returns the hash of a file's content in the graph, by its path. It returns "" for a file that is not in the
// graph or whose content was not read.
func (v *View) Hash(path string) string {
	if i := v.fileUnit(path); i >= 0 {
		return v.unit(i).hash
	}
	return ""
}

// Holds reports whether the graph has a file at a path or below it.
func (v *View) Holds(path string) bool {
	for _, u := range v.files {
		if rest, ok := strings.CutPrefix(v.text(u.path), path); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// versions are written at the head of a saved graph: the version of the file format and those of the packages that read
// files. Load refuses a graph with other versions. Otherwise it would keep outdated results for as long as the files
// don't change.
//
// If a package returns something new for the same file, raise its number here; TestVersions fails until then.
// Extractors from outside this module are not covered: rebuild the graph after a change of one.
var versions = []version{
	{"format", 3}, // of the saved file
	{"codegraph", 6},
	{"codegraph/golang", 3},
	{"codegraph/lexed", 6},
	{"codegraph/scip", 4},
	{"codegraph/typed", 4},
}

type version struct {
	of string
	n  uint64
}
