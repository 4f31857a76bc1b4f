// Package attention lists what a person should look at: verified claims that were
// disputed, claims that contradict each other, claims that a less certain one
// replaced, claims of little confidence that nobody verified, writes that were
// refused because they had no evidence, and what agents ask for that only a person
// may do (see [PutMark]).
//
// [List] computes the list from the claims and their history each time, so that it
// can't be wrong for long: what was settled is gone from it by itself. Only three
// things are kept, on the owner's shelf: refused writes, which leave no trace
// elsewhere (see [Reject]), marks of agents, and which items somebody does not want
// to see again until they change (see [Dismiss]).
//
// Candidates of patterns are not listed: they have a review of their own.
package attention
