package codegraph

import "strings"

// Kind is what a node is; it is the prefix of its ID.
type Kind string

// The kinds of nodes.
const (
	KindFile      Kind = "file"
	KindPackage   Kind = "package"   // Go, Java, Python, Rust
	KindNamespace Kind = "namespace" // C#, C++, TypeScript
	KindType      Kind = "type"      // struct, class, enum, record, alias, trait's implementor
	KindInterface Kind = "interface" // interface, trait, protocol
	KindMethod    Kind = "method"
	KindProperty  Kind = "property" // field, property, member of an enum
	KindFunction  Kind = "function"
	KindVariable  Kind = "variable" // variable or constant at the level of a file
	KindDecision  Kind = "adr"
)

// ID makes an ID of a kind and a qualified name.
func ID(k Kind, qualified string) string { return string(k) + ":" + qualified }

// Split cuts an ID into its kind and its qualified name. ok is false for a text
// without the prefix of a kind.
func Split(id string) (k Kind, qualified string, ok bool) {
	prefix, rest, found := strings.Cut(id, ":")
	switch k = Kind(prefix); k {
	case KindFile, KindPackage, KindNamespace, KindType, KindInterface, KindMethod, KindProperty, KindFunction, KindVariable, KindDecision:
		return k, rest, found && rest != ""
	}
	return "", id, false
}

// EdgeKind is how one node hangs on another: from hangs on to.
type EdgeKind string

// The kinds of edges.
const (
	Defines    EdgeKind = "defines"     // a file, a type, its member
	Imports    EdgeKind = "imports"     // a file, a package or file
	Inherits   EdgeKind = "inherits"    // a type, its base or what it embeds
	Implements EdgeKind = "implements"  // a type, an interface
	References EdgeKind = "references"  // a declaration, what it names
	Calls      EdgeKind = "calls"       // a declaration, what it calls
	Tests      EdgeKind = "tests"       // a test, what it is for
	DependsOn  EdgeKind = "depends_on"  // a package, another one: the sum of its imports
	Governs    EdgeKind = "adr_governs" // a decision, what it is about
)

// How says how an edge was found.
type How string

// The ways in which an edge is found.
const (
	Exact How = "exact" // by syntax that leaves no choice, by types, by a compiler's index
	Guess How = "guess" // by a name that fits
)
