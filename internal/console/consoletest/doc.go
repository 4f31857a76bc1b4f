// Package consoletest creates a project that has data for every page of the operator's
// console, including data that should never have been accepted. It is for tests of the
// console, in Go and in a browser.
//
// Nothing bypasses the layer. Claims are written to the store, turns go through
// Layer.Assemble and Answered, sessions end and are harvested, and sweeps run. So pages
// show what they would show of a real project.
//
// The project is a payments service on which two agents work. Everything happened in the
// months before Options.Now; see story.go for the order. The same options give the same
// texts, times and ids, except for ids that stores and harvests create, and for
// measurements.
package consoletest
