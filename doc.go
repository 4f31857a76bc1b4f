// Package ken defines the types of the knowledge layer: the claim and its evidence, its
// life cycle, the messages of a turn, the receipt that explains what a turn was given
// and why, and the five-method store that holds claims between sessions.
//
// The package only implements the rules of these types (which transition is legal,
// which tier some evidence earns), and imports no other package of the project.
// Programs start at the middleware package, which puts a layer in front of a chat loop.
//
// All types are plain values and safe to copy. A function that keeps one keeps a copy
// of its own. Slices in a value returned by a store belong to the caller.
package ken
