// Package structuretest makes random structures for tests, and computes in the simplest
// way which of their constraints apply.
package structuretest
