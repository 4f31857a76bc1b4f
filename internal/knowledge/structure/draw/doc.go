// Package draw draws an entity.Graph: as SVG for people, as Mermaid for documents,
// and as DOT for other programs.
//
//	depends on it ─→ the entity ─→ it depends on
//
// The layout of the SVG has columns: the entity in the middle, what it depends on to
// the right, what depends on it to the left, and nodes two steps away further out. If
// one side has too many boxes, the other one takes some of them; arrows show the
// direction. Thick lines are strong dependencies. A graph of sixty boxes needs no
// more. Graphviz, which is better with thousands, is available as C, which needs cgo,
// or as WebAssembly, which needs a runtime of several megabytes.
//
// Names come from the authors of claims and may contain anything. They are always
// written as text: see [SVG], [Mermaid] and [DOT] for the escaping in each format.
// Long names are shortened. The same graph gives the same bytes.
package draw
