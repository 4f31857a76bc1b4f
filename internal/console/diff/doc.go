// Package diff compares two versions of a short text word by word, for display. No byte
// is lost: the unchanged and removed pieces together are the old version; the unchanged
// and added pieces are the new one.
//
// The shortest list of changes is often hard to read. So white space between two changed
// words counts as changed too, and a new sentence is one change instead of one for each
// word. Two texts with almost nothing in common are shown as one removed and one added
// piece, which also limits the work.
package diff
