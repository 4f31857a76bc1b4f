// Package provenance lists the claims and the evidence for a thing: a file, a symbol, a
// test, a command, an artifact, another claim. It is a view over an owner's claims, computed
// when it is asked for; nothing is kept for it. [Of] finds the claims that are about the
// thing or rest on it, by the indexes that a store has for names and references, and
// says of each which tier it has by now, why, and which of its evidence still stands.
//
// [Record] is the one way in which validators write: whoever runs a check says what was
// checked, what came of it and what was seen. There is at most one standing claim of a
// check. The same verdict again adds its evidence to that claim; the other verdict
// supersedes it.
package provenance
