// Package structure reads what claims are about: which entities a turn is about,
// which rules hold for them and for what is one dependency away, and what is filed
// under their aspects.
//
//	signs of a turn ─→ focal entities ─→ rules, of them and one hop
//	                                  └→ top aspects ─→ attributes
//
// There is nothing stored beside the claims: an entity is a name that claims carry,
// an aspect is there when a claim is under it, and aliases and dependencies are
// claims themselves, with evidence, a status and a scope. All reading is from
// store.Structure, which is kept in memory and follows every write, so that a rule
// can't be missed because something was not classified, indexed or embedded yet.
//
// A name that is another name of something stands for it; all names of one entity
// are looked at together. Ambiguous names stand for each thing that they are a name
// of. Chains and circles of aliases end.
//
// Constraints have no bound here. All else has: see Bounds.
package structure
