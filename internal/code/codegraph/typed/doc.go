// Package typed says exactly what the names in Go files mean, by checking types where a
// toolchain is: references and calls, down to the method of an interface; which types
// implement which interfaces; what embeds what.
//
// [Check] asks the go command which packages there are, and reads and checks the
// repository's own from their source, one after the other: first what a package
// declares, which is kept for those that import it, then its functions, of which
// nothing is kept but edges. What is not of the repository comes from the export data
// in the go command's cache, so it is compiled once when it was never built. Nothing of
// the repository is compiled: a package that is broken right now costs what depends on
// its broken part.
//
// The go command runs with the network off, may not change go.mod or go.sum, and does
// not see a go.work above the root. Import "C" is not looked into, so that no C
// compiler is asked for.
//
// # What an edge means
//
// From is the innermost declaration around the name, by the same rules as in package
// golang, and to is what the repository itself declares; what others declare has no
// node. The exception is an interface of the standard library that the code names: a
// type implements it or does not. A call through a variable or field is a call of that
// variable. A type implements an interface when it or the pointer to it does; generic
// interfaces, and those without methods, are left out. Types that tests declare are
// compared with the interfaces of their package and of what it imports directly.
//
// Files that the current system, its architecture or tags leave out are in no package,
// and stay with what names say of them.
package typed
