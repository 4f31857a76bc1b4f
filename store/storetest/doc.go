// Package storetest is the suite that every store passes. [Run] holds a store to
// the contract written on ken.Store, [RunProjections] one that a turn reads from
// to the contract on store.Projections, [Shelf] a shelf to that on store.Shelf.
//
// A test that protects against a fault known from other memory layers is named
// for the fault. A store that also has the method
//
//	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
//
// gets its hash chain checked after every test. If a store has Get, ByKey, Reinforce,
// Archive, Assign or Forget, they are tested against the contract of the store on disk.
package storetest
