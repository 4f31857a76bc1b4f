// Package ledger keeps a summary of past turns in memory: their number, modes and times,
// and which of them received a claim. The console draws its charts from it and lists the
// turns that received a claim.
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
// [Ledger.Catch] reads the newest receipts until it reaches turns that it has, in the
// same order. It always reads the newest few again, because the use of their items is
// recorded after the turn.
//
// Receipts are also deleted, which a listing of the newest ones does not show: the oldest
// are pruned, and a forgotten session loses all its receipts. So once a minute, a Catch
// checks that the oldest turn still exists, and the oldest turn of each session. If one
// is gone, it lists that session again. That takes one small read for each session, 256
// of them at a time. After forgetting something in this process, call [Ledger.Drop] to
// update at once.
//
// Later changes to old receipts, such as marks or the removal of a forgotten claim, are
// seen when all receipts are read again, once an hour.
//
// Owners are separate: results for one owner never contain data from another's book.
package ledger
