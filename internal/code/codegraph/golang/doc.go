// Package golang reads Go files for the graph by their syntax alone. It needs no toolchain, no other file and no cache.
// It returns what a file declares, what it imports and which names it uses. Package typed resolves these names exactly,
// but needs a toolchain.
//
// # Names
//
// A file's package is identified by its import path, which follows from the nearest go.mod in the file's folder or
// above. [FindModules] finds these files, and [New] takes the result. The external tests of a package are a package of
// their own, with the path that the type checker gives it ("example.com/shop/cart_test"). A folder that no go.mod
// covers is identified by its path.
//
// A name declared by a function, its parameters or a block is not a use. Any other name belongs to the package or comes
// from a dot import. So it becomes a qualified name, unless the file has dot imports.
//
// # Members
//
// x.Total is a qualified member if the file shows the type of x: x is a receiver, a parameter, a variable set to a
// literal, a conversion, or a call of a function in the same file. Fields, elements and range are followed. The member
// is that of the type or, if the file declares the type's members, of a type that it embeds. A type of another file may
// embed the type that has the member, so the graph looks for undeclared qualified members there. If the type of x is
// unknown, the name is ".Total".
//
// # Limits
// The name of an imported package is derived from its path. If that is not possible (the path ends in -go or in a
// version), it is derived from the uses in the file. A conversion to a type of another file looks like a call. Each
// name is recorded once per declaration and kind, with its first line.
package golang
