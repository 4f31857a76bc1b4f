// Package memory is the store for tests and short-lived scripts. It keeps the
// same log, hash chain and fold as the store on disk, so a test that passes on it
// says something about the other; what differs is that everything lives in
// maps and ends with the process.
//
// A [Store] is a slice of events and what follows from them: the claims, the
// terms that each holds, and, with an embedder, a vector of each. Its shelf is a
// tree of its own, which [NewShelf] also gives without a store.
//
// Caveats. Nothing is ever evicted. A vector search compares with every claim,
// and a keyword search scores every claim that shares a term: fine up to a few
// ten thousand claims. A text that could not be embedded when it was written
// stays without a vector until it is revised; Coverage shows it.
package memory
