// Package store defines the interface of a claim store: the events of its log and the
// hash chain over them, the cleaning that every written claim passes, and what a turn
// reads.
//
// The log is the truth. A store appends events. Claims, keyword index and vectors are
// projections of the log, which can be thrown away and rebuilt. Package memory is a
// store in memory, and package storetest the suite that every store passes. The store
// on disk, and what all stores share, is in internal/store.
package store
