// Package typed resolves the names in Go files exactly, by type-checking. It finds references and calls, down to
// methods of interfaces, which types implement which interfaces, and what is embedded. It needs a Go toolchain.
//
// [Check] asks the go command for the packages and type-checks those of the repository from source. For each package it
// first checks the declarations, which are kept for importing packages, and then the function bodies, of which only
// edges are kept. Packages from outside the repository come from the export data in the go command's cache. The go
// command compiles them once if they were never built. Nothing of the repository is compiled, so a package with errors
// loses only what depends on the broken part.
//
// The go command runs without network access, may not change go.mod or go.sum, and ignores a go.work above the root.
// Import "C" is not resolved, so no C compiler is needed.
//
// # What an edge means
//
// From is the innermost declaration around the name, with the same rules as in package golang. To is a declaration in
// the repository; other declarations have no node. The exception is an interface of the standard library that the code
// names: types that implement it get an edge to it. A call through a variable or field is a call of that variable. A
// type implements an interface if the type or the pointer to it does. Generic interfaces and those without methods are
// left out. Types declared by tests are compared with the interfaces of their package and of its direct imports.
//
// Files excluded by the current system, architecture or build tags are in no package. They keep the edges that are
// resolved from names.
package typed
