package codegraph

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

// Refinement is what somebody who knows better says of files: in place of the edges
// that the graph found of those kinds for those files.
type Refinement struct {
	Source string     // who says so: "types", "scip"; a later one of the same source replaces the earlier for its files
	Kinds  []EdgeKind // what it is complete for
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
}
