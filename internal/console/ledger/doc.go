// Package ledger keeps a summary of past turns in memory: how many there were, in which
// mode they ran, how long they took, and which of them received a claim. The console draws
// its charts from it and lists the turns that a claim was given to.
//
// # The idea
//
// The store keeps a receipt of each turn, some kilobytes with every item, cut and signal.
// A [Ledger] reads them and keeps a few hundred bytes of each: the numbers that a chart
// needs and the ids of its items, newest turn first. It drops the oldest turns beyond
// Options.Turns, and the least recently used owners beyond Options.Owners.
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
