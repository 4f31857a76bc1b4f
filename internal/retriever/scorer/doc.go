// Package scorer reorders what retrieval found by what proved of use.
//
// A [Scorer] sees numbers of each candidate ([Features]: hashed slots of entity and
// aspect, the distance of the traversal, the ranks in the sources, tier, age, earlier use)
// and says in which order they should be considered. [Guard] asks it under a deadline
// and checks what it says: late, failed or not a permutation, and the plain order
// stands. Constraints are never offered to it, so it can neither drop nor move one.
//
// [Learner] is the built-in one, and an owner's memory of use. It learns online which
// candidates answers used (package use judges that) with a logistic model, see
// [Model]. It decides nothing before it has proved to order better than the plain
// order does, see [Gate]: on each turn, both orders are compared on what that turn
// used before the model learns from it. [Explore] swaps now and then the two
// candidates at the cut, so that what the order leaves out gets a chance to prove
// itself and orders can be compared without the bias of the one that was in force.
//
// # Layout
//
// On the owner's shelf:
//
//	scorer/state        the model and the gate: see State
//	scorer/aside/CRC    a state that could not be read, as it was
//	scorer/claim/ID     how often a record was shown and used, and its slots
//	scorer/slot/HASH    the same for all under an entity's aspect
//
// Nothing there has words: names are hashes, claims are ids. Forgetting a claim
// deletes its counters, and takes them off those of its slot.
package scorer
