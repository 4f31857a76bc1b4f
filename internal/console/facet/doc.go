// Package facet counts and selects claims by their properties: how many are patterns, how
// many are disputed, which session produced the most. It answers for 100,000 claims in
// milliseconds, so that a page can show the counts beside every list.
//
// # The idea
//
// An [Index] is a fold over the store's log, in memory. Of each claim it keeps what
// can be counted and sorted by, never what the claim says: a column for each
// property, in which a number stands for a value that many claims share. Counting a
// facet is then one loop over an array of numbers.
//
// [Index.Catch] brings an owner's columns up to the log before a page is made. The
// first time it reads every claim, in the background when there are many; from then
// on it reads the events after its watermark and the claims that they concern. A log
// that is another one than before, as after a restore, is read anew: the hash of the
// last event that was folded tells.
//
// # Counts
//
// Within a facet values are alternatives, between facets conditions add up. The
// counts of a facet leave its own selection out of account, so that they say what
// choosing one more value would show.
//
// Tiers are counted as they are at the time of asking, decay included; as on a
// claim's page, whether a file still says what it said is not looked at. Names of
// entities are compared as analysis.Entity spells them and shown as one of the claims
// writes them.
//
// # Forgetting
//
// A value goes from memory with the last claim that has it. Between a forgotten
// claim and the next Catch its id may still come back from a selection; the store
// no longer finds it.
//
// Every owner has columns of its own: nothing that an Index returns for one was read
// from another's store.
package facet
