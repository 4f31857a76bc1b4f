// Package facet counts and selects claims by their properties: how many are patterns,
// how many are disputed, which session produced the most. It answers for 100,000
// claims in milliseconds, so that a page can show the counts beside every list.
//
// # The idea
//
// An [Index] is computed from the store's log and held in memory. It has the
// properties of claims for counting and sorting, never their text: a column for each
// property, in which each value is a number. Counting a facet is then one loop over an
// array of numbers.
//
// [Index.Catch] updates an owner's columns from the log before a page is rendered. The
// first time it reads every claim, in the background if there are many. After that it
// reads only the new events and the claims that they concern. If the log was replaced,
// for example by a restore, everything is read again; the hash of the last event that
// was read shows that.
//
// # Counts
//
// Within a facet, values are alternatives; conditions of different facets must all
// hold. The counts of a facet ignore its own selection, so that they show what
// selecting another value would give.
//
// Tiers are computed at the time of the query, including decay; like a claim's page,
// they do not check whether files have changed. Entity names are compared in the form
// of analysis.Entity and shown as one of the claims writes them.
//
// # Forgetting
//
// A value is removed from memory with the last claim that has it. Until the next
// Catch, a selection may still return the id of a forgotten claim; the store no longer
// finds it.
//
// Every owner has separate columns: results for one owner never contain data from
// another's store.
package facet
