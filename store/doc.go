// Package store holds what every claim store shares: the events of the log and
// the hash chain over them, the fold that turns events into claims, the cleaning
// that every written claim passes, and the read side that a turn needs.
//
// The log is the truth. A store appends events; claims, keyword index and
// vectors are projections, folds over the log that can be thrown away and
// rebuilt. Implementations live in sub-packages: bolt on disk, memory for tests
// and scripts, null for programs that have not opted in; storetest is the suite
// that they all pass.
package store
