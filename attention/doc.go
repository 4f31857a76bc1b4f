// Package attention lists what a person should look at: verified claims that were
// disputed, claims that contradict each other, claims that a less certain one
// replaced, claims of little confidence that nobody verified, and writes that were
// refused because they had no evidence.
//
// [List] computes the list from the claims and their history each time, so that it
// can't be wrong for long: what was settled is gone from it by itself. Only two
// things are kept, on the owner's shelf: refused writes, which leave no trace
// elsewhere (see [Reject]), and which items somebody does not want to see again
// until they change (see [Dismiss]).
//
// Candidates of patterns are not listed: they have a review of their own.
package attention
