// Package sweep measures recall: it remembers a data set in a real store, asks
// every question as a turn would, and compares modes and settings on the same
// questions.
//
//	data set ─→ claims in a store ─→ for each mode: Layer.Assemble per question ─→ measures, intervals, report
//
// Nothing is measured on a path of its own. Records become claims by the store's
// import, each conversation of a scoped set is an owner, the configuration is the
// user's in everything that is not varied, and what is read is the turn's own
// state: the order of its candidates, and its block.
//
// Run runs, Compare says which differences between two runs are real, package
// dataset reads data, package metric has the formulas, package report draws.
// docs/evals.md defines every figure.
package sweep
