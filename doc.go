// Package ken is the vocabulary of the knowledge layer: the claim and the
// evidence behind it, its life cycle, the messages of a turn, the receipt that
// explains what a turn was given and why, and the five-method store that holds
// claims between sessions.
//
// The package has no behaviour beyond rules about those nouns (which transition
// is legal, which tier some evidence earns) and imports no other package of the
// project. Programs start at the middleware package, which puts a layer in front
// of a chat loop.
//
// All types are plain values. They are safe to copy; a function that keeps one
// keeps its own copy, and slices inside a value returned by a store belong to
// the caller.
package ken
