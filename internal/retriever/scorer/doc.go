// Package scorer reorders the results of retrieval by their use in earlier turns.
//
// It gets numbers about each candidate ([Features]: hashed slots of entity and aspect, the distance of
// the traversal, the ranks in the sources, tier, age, earlier use) and returns the order of the
// candidates. It never gets constraints, so it can neither drop nor move one.
//
// [Learner] stores the use of an owner's items. It learns online, with
// the logistic model of [Model], which candidates answers used (package use determines that). It
// takes effect only after it has proved to order better than the plain order, see [Gate]: in each
// turn, both orders are compared on the items that the answer used, before the model learns from
// the turn. [Explore] sometimes swaps the two candidates at the cut. So items that the order leaves
// out can prove useful, and orders can be compared without a bias for the one in effect.
//
// # Layout
//
// Keys on the owner's shelf:
//
//	scorer/state        the model and the gate: see State
//	scorer/aside/CRC    a state that could not be read, unchanged
//	scorer/claim/ID     how often a record was shown and used, and its slots
//	scorer/slot/HASH    the same for all records under an aspect of an entity
//
// The values contain no words: names are hashes, and claims are ids. Forgetting a claim deletes its
// counters and subtracts them from those of its slot.
package scorer
