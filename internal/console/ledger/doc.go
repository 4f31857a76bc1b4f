// Package ledger keeps the history of turns at hand: how many there were and in which
// mode, how long they took, and which of them were shown a claim. It is what charts
// are drawn from, and the answer to "who was told this?".
//
// # The idea
//
// The receipts of turns lie on the shelf, each some kilobytes with a place for every
// item, cut and signal. A [Ledger] is a fold over them: of each turn the numbers that
// a chart needs and the ids of its items, newest turn first, in a few hundred bytes.
// Turns beyond a number are left out, the oldest first, and so are owners beyond
// another.
//
// # What is kept up to date, and when
//
// [Ledger.Catch] reads the newest receipts until it meets turns that it has, in the
// order in which it has them, and always the newest few again: what an answer made of
// its items is marked after the turn.
//
// Receipts also go, which a listing from its newest end can't tell: the oldest are
// pruned, and those of a forgotten session are erased, all of them. So a Catch looks
// now and then, once a minute, whether the oldest turn is still there, and the oldest
// of each session: where that is gone, the session is listed again. It is one small
// read for each session, 256 of them at a time. Whoever forgets something in this
// process calls [Ledger.Drop] and need not wait.
//
// What is marked later on an old turn, or erased from one together with a claim, is
// seen by the next reading of all receipts: one an hour.
//
// Every owner's turns are apart: nothing that a Ledger returns for one was read from
// another's book.
package ledger
