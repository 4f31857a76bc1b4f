// Package witness runs a command and says what was seen: how it ended, which tests its
// output tells of, and which files of the project are others than before.
//
//	Look ─→ Run ─→ Changed ─→ Seen.Checks ─→ provenance.Record
//
// The command's streams are passed on as they come, and its output is looked at in
// passing: nothing of it is kept but the names of tests. Because of that the command
// writes to a pipe and not to a terminal, unless Command.Direct says otherwise.
//
// Caveat: a file that an editor saves while the command runs counts as changed by it.
package witness
