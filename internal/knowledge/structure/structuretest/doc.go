// Package structuretest makes structures that are hard to read, and says in the
// plainest way which constraints of them apply, for tests of whatever must not lose
// one.
package structuretest
