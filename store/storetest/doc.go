// Package storetest is the suite that every store passes. [Run] tests a store
// against the contract of ken.Store, [RunProjections] against that of
// store.Projections, and [Shelf] a shelf against that of store.Shelf.
//
// A test that protects against a fault known from other memory layers is named
// for the fault. A store that also has the method
//
//	Events(ctx context.Context, from uint64) iter.Seq2[*store.Event, error]
//
// gets its hash chain checked after every test. If a store has Get, ByKey, Reinforce,
// Archive, Assign or Forget, they are tested against the contract of the store on disk.
package storetest
