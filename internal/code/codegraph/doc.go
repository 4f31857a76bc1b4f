// Package codegraph keeps a graph of a project's source code: what its files declare
// and how the declarations use each other. It has files, packages, types, methods, functions and
// decisions as nodes; defines, imports, inherits, implements, references, calls,
// tests, depends_on and adr_governs as edges.
//
// The files are the truth and the graph is a projection of them, keyed by content hash. An Extractor reads one file by
// itself and returns what it declares and which names it uses (File). The Graph resolves the names. A more exact
// source, such as a type checker or a compiler's index, can refine the edges of files (Refinement). A refinement is
// dropped when the content of its file changes. Each edge records how it was found: exact, or a guess from names.
//
// # Identity
//
// A node is known by a stable ID: a prefix that names its kind, a colon, and a
// fully qualified name. What comes before a declared name depends on the language:
// the import path in Go, the dotted package or namespace in Java, C#, Python and
// Rust, the path of the file without its extension where a file is the unit of
// scope, as in TypeScript, JavaScript, C and C++.
//
//	file:store/shelf.go
//	package:example.com/shop/cart
//	namespace:Shop.Cart
//	type:example.com/shop/cart.Line
//	interface:example.com/shop/cart.Pricer
//	method:example.com/shop/cart.Line.Total
//	property:example.com/shop/cart.Line.Amount
//	function:example.com/shop/cart.New
//	variable:example.com/shop/cart.ErrEmpty
//	adr:ADR-0042
//
// An ID without its prefix is the node's qualified name. Several declarations of one qualified name (overloads, files
// for different systems) are one node with several places.
package codegraph
