// Package consoletest makes a project with something of everything that the operator's
// console shows, and with what should never have got in: for tests of the console, in Go
// and in a browser.
//
// Nothing in it is made up behind the layer's back. Claims are written to the store, turns
// go through Layer.Assemble and Answered, sessions end and are harvested, sweeps run. What
// a page shows of it is therefore what it would show of a real project.
//
// The project is that of a payments service that two agents work on. Everything happened
// within the months before Options.Now; see story.go for the order. The same options give
// the same words, times and ids, but for what stores and harvests name by themselves, and
// for what was measured.
package consoletest
