// Package attention lists what a person should look at: verified claims that were
// disputed, claims that contradict each other, claims that a less certain one
// replaced, claims of low confidence that nobody verified, writes that were refused
// because they had no evidence, and requests of agents that only a person may carry
// out (see [PutMark]).
//
// [List] computes the list from the claims and their history each time, so that
// settled items disappear from it. Only three things are stored, on the owner's
// shelf: refused writes, which are recorded nowhere else (see [Reject]), requests
// of agents, and items that somebody has dismissed until they change (see
// [Dismiss]).
//
// Candidates of patterns are not listed: they have a review of their own.
package attention
