// Package structure reads what claims are about: which entities a turn is about,
// which rules apply to them and to entities one dependency away, and which claims
// are under their aspects.
//
//	signs of a turn ─→ focal entities ─→ rules, of them and one hop
//	                                  └→ top aspects ─→ attributes
//
// The structure is not stored separately. An entity is a name that claims have, an
// aspect exists if a claim is under it, and aliases and dependencies are claims
// with evidence, a status and a scope. Everything is read from store.Structure,
// which is in memory and reflects every write, so that no rule is missed because it
// was not classified, indexed or embedded yet.
//
// An alias stands for the entity that it is another name of, and all names of an
// entity are read together. An ambiguous name stands for each of its entities.
// Chains and cycles of aliases are resolved.
//
// Constraints are not limited here. Everything else is; see Bounds.
package structure
