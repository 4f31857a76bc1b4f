// Package draw draws an entity.Graph: as SVG for people, as Mermaid for documents,
// and as DOT for other programs.
//
//	depends on it ─→ the entity ─→ it depends on
//
// The SVG is laid out here, in columns: the entity in the middle, what it depends on
// to the right of it, what depends on it to the left, two steps away further out.
// Where one side is crowded, the other takes some of it: arrows tell the direction.
// Thick lines are strong dependencies. A graph of sixty boxes needs no more than
// that, and Graphviz, which could do better with thousands, comes as C or as
// WebAssembly: the one needs cgo, the other a runtime of several megabytes.
//
// Names come from whoever wrote claims. They are text here and nothing else, whatever
// they contain: see [SVG], [Mermaid] and [DOT] for what each format needs. Long ones
// are shortened. The same graph gives the same bytes.
package draw
