// Package memory is the store for tests and short-lived scripts. It uses the same log,
// hash chain and fold as the store on disk, so tests on it also say something about
// that one. It keeps everything in maps, which end with the process.
//
// A [Store] holds a slice of events and what is derived from them: the claims, the
// terms of each, and, with an embedder, a vector of each. Its shelf is a separate tree,
// which [NewShelf] also creates without a store.
//
// Limits: nothing is ever evicted. A vector search compares with every claim, and a
// keyword search scores every claim that shares a term: this works up to a few ten
// thousand claims. A text that could not be embedded when it was written has no vector
// until it is revised; Coverage shows it.
package memory
