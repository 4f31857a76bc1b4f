// Package provenance lists the claims and the evidence for a thing: a file, a symbol, a
// test, a command, an artifact, or another claim. It is a view over an owner's claims that
// is computed on request; nothing is stored for it. [Of] finds the claims that are about the
// thing or have it as evidence, by a store's indexes of names and references. For each claim
// it returns the current tier, the reason for it, and which of its evidence is still valid.
//
// [Record] is the only way in which validators write: the validator reports what was
// checked, the result, and what was observed. There is at most one valid claim of a check.
// The same verdict again adds its evidence to that claim; the other verdict supersedes it.
package provenance
