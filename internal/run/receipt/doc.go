// Package receipt keeps the receipts of turns: what was injected into which turn,
// and why.
//
// A [Book] holds one owner's receipts, on the owner's shelf. It keeps the newest
// ones, up to a number and an age. It finds a receipt by its turn and lists
// receipts, all or those of one session, newest first.
//
// # What is kept
//
// A stored receipt names claims by their ids and has no content of them: no text,
// heading, key or source of a claim, and no block. So when a claim is forgotten,
// only its place in the ranking has to be erased; [Book.Forget] does that, and the
// id alone stays. Pieces of the repository keep their heading and source, which
// belong to the file. Of the messages, a receipt holds the signals, cleaned, and
// the number of the last message in the session's journal. A hash of the block
// allows a reconstructed block to be checked. It is deleted when a claim of the
// block is forgotten, because it could confirm a guess at the claim's text.
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
