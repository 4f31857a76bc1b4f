// Package scip reads the results of a compiler's indexer from a file in the SCIP format (index.scip). For each
// document, the file lists where symbols are defined and referenced, and which symbols implement others. There are
// indexers for TypeScript and JavaScript, Python, Java, Kotlin and Scala, C#, C and C++, Rust, Go, Ruby, PHP and Dart.
//
// An index is read document by document. Only the positions of references, a few bytes each, and each symbol's name
// stay in memory.
//
// # From symbols to nodes
//
// A symbol is mapped to the node that the graph has where the symbol is defined: the declaration with its name around
// that line (Options.File). If there is none, the symbol's descriptors define a new node. Its kind follows from their
// suffixes and the index's kind, its qualified name from their names and the conventions of package codegraph. Such
// declarations are part of the refinement. Parameters, type parameters and symbols local to a function have no node.
//
// A reference comes from the innermost declaration around its line, of the graph or else of the index. The extent of an
// index's declaration is the one that the indexer gives, or the more indented lines below it. SCIP does not mark calls:
// a reference is a call if an opening parenthesis follows and it does not name a type.
//
// # Whether an index is still valid
//
// An index has no hashes. A document is left out, and counted, if its text in the index differs from the file. If the
// index has no text, the document is left out if the file was modified after the index was made. In any case, nine of
// ten names of defined symbols must be found at their positions.
package scip
