// Package scip reads what a compiler's indexer has found out, from a file in the SCIP
// format (index.scip): for each document where which symbol is defined and referred
// to, and which symbol implements which. There are indexers for TypeScript and
// JavaScript, Python, Java, Kotlin and Scala, C#, C and C++, Rust, Go, Ruby, PHP and Dart.
//
// An index is read document by document, so that what is kept is the places of
// references, a few bytes each, and the names of symbols, once each.
//
// # From symbols to nodes
//
// A symbol is the node that the graph has where the symbol is defined: the declaration
// of that name around that line (Options.File). Where the graph has none, or is not
// asked, the symbol's descriptors give a node of their own: their suffixes its kind, with
// what the index says of it, and their names its qualified name by the conventions of
// package codegraph. Such declarations are part of the refinement. Parameters, type
// parameters and what is local to a function have no node.
//
// A reference comes from the innermost declaration around its line: of the graph, else
// of the index, whose extent is what the indexer says, or the lines below it that are
// indented more. It is a call when it is followed by an opening parenthesis and does not
// name a type: SCIP itself does not tell.
//
// # Whether an index still fits
//
// An index has no hashes. A document is left out, and counted, when its text, where the
// index has it, is not the file's; else when the file was modified after the index was
// made; and in any case when the names of the symbols that it defines do not stand where
// it says: nine of ten must.
package scip
