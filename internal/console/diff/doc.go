// Package diff compares two versions of a short text word by word, for people to read.
// Nothing is lost: the unchanged and the removed pieces together are the old version byte
// for byte; the unchanged and the added pieces are the new one.
//
// The shortest list of changes is seldom the one that reads best. White space between
// two changed words counts as changed with them, so that a new sentence is one change
// and not one for each word. Two texts with next to nothing in common are shown as one
// that is gone and one that is new, which is also what bounds the work.
package diff
