// Package golang reads Go files for the graph by their syntax alone: no toolchain, no
// other file, no cache. It says what a file declares, what it imports and which names
// it uses; package typed says exactly what the names mean, where a toolchain is.
//
// # Names
//
// A file's package is known by its import path, which follows from the nearest go.mod
// above it ([New] is told of those, [FindModules] finds them); the external tests of a
// package are a package of their own, with the path that the type checker gives it
// ("example.com/shop/cart_test"). A folder that no go.mod covers is known by its path.
//
// A name that a function, its parameters or a block declares is not a use. What is
// left over can only be the package's own, or come from a dot import; so it is a
// qualified name, except where there are dot imports.
//
// # Members
//
// x.Total is a qualified member when the file shows what x is: a receiver, a
// parameter, a variable made of a literal, a conversion, or a call of a function that
// the same file declares; through fields, elements and range. The member that is named
// is then the one of that type, or, where the file declares the type's members, of
// what it embeds. A type declared elsewhere may embed what has the member: a
// qualified member that nobody declares is to be looked for there. What is not
// known is ".Total".
//
// # Limits
//
// The name of an imported package is taken from its path; where that can't be (a
// path that ends in -go, or in a version), from how the file uses it. A conversion to
// a type of another file looks like a call. A name is used once for each declaration and
// kind, with its first line.
package golang
