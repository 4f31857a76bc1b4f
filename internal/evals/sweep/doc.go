// Package sweep measures recall: it writes a data set into a real store, asks every
// question as a turn would, and compares modes and settings on the same questions.
//
//	data set ─→ claims in a store ─→ for each mode: Layer.Assemble per question ─→ measures, intervals, report
//
// Measurements use the same code as normal turns. Records become claims by the store's
// import, and each conversation of a scoped set is an owner. The configuration is the
// user's, except for what is varied. The results are read from the turn's own state:
// the order of its candidates, and its block.
//
// Run runs a measurement, and Compare determines which differences between two runs
// are real. Package dataset reads data, package metric has the formulas, and package
// report renders reports. docs/evals.md defines every measure.
package sweep
