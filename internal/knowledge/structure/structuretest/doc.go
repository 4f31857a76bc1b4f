// Package structuretest makes random structures for tests, and computes by brute force
// which of their constraints apply.
package structuretest
