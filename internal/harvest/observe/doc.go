// Package observe runs a command and reports what it did: how it ended, which tests its
// output lists, and which files of the project it changed.
//
//	TakeSnapshot ─→ Run ─→ Changed ─→ Report.Checks ─→ provenance.Record
//
// The command's streams are passed on as they come, and its output is looked at in
// passing: nothing of it is kept but the names of tests. Because of that the command
// writes to a pipe and not to a terminal, unless Command.Direct says otherwise.
//
// Caveat: a file that an editor saves while the command runs counts as changed by it.
package observe
