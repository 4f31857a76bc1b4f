// Package diff says what changed between two versions of a short text, word by word,
// for people to read. Nothing of either version is lost: what is the same and what is
// gone together are the old one, byte for byte, what is the same and what is new the
// new one.
//
// The shortest list of changes is seldom the one that reads best. White space between
// two changed words counts as changed with them, so that a new sentence is one change
// and not one for each word. Two texts with next to nothing in common are shown as one
// that is gone and one that is new, which is also what bounds the work.
package diff
