// Package receipt keeps the receipts of turns: what was injected into which turn
// and why, for whoever asks later.
//
// A [Book] is one owner's, on the owner's shelf. It keeps the newest receipts up
// to a number and an age, finds them by turn, and lists them, all or those of one
// session, newest first.
//
// # What is kept
//
// A kept receipt names claims by their ids and says nothing of what they say: no
// text, heading, key or source of a claim, and no block. So there is nothing to be
// erased when a claim is forgotten, except where it stood in the ranking, which
// [Book.Forget] erases too: the id stays and nothing else. Pieces of the repository
// keep their heading and source, which are the file's, not a claim's. Of messages
// it has what the signals hold, cleaned, and the number under which the session's
// journal has the last one. A hash of the block proves a block that is written again
// from elsewhere; it goes when a claim of the block is forgotten, since it could
// confirm a guess at what that one said.
//
// # Layout
//
//	receipt/book              the numbers of the first and the last receipt, and when the first is from
//	receipt/entry/NUMBER      the receipt: a line that says whose it is, then a line with the Record, both
//	                          JSON, and its long lists as coder writes them; older ones have them in the Record
//	receipt/used/NUMBER       what the answer used of its items, as JSON; nothing until that is known
//	receipt/taint/NUMBER      the marks of its answer, as JSON; nothing when there are none
//	receipt/turn/TURN         its number
//	receipt/session/ID/NUMBER nothing; NUMBER is counted down, so that the newest comes first
package receipt
