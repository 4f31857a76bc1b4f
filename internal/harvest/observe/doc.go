// Package observe runs a command and reports what it did: how it ended, which tests its
// output lists, and which files of the project it changed.
//
//	TakeSnapshot ─→ Run ─→ Changed ─→ Report.Checks ─→ provenance.Record
//
// The command's streams are passed through. Its output is parsed at the same time, and
// only the names of tests are kept. For that reason the command writes to a pipe and
// not to a terminal, unless Command.Direct is set.
//
// Caveat: a file that an editor saves while the command runs counts as changed by it.
package observe
