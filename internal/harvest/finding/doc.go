// Package finding turns the results of an agent's tool calls into knowledge: what
// a file is, where something is used, what was changed, who owns it, what was
// decided, what a project requires, and what keeps failing and why. No model is
// involved.
//
//	entries ─→ Calls (call and result, by role) ─→ Extract ─→ Finding.Claim
//
// A finding is a statement of a line or two, not a copy of the output. The table
// Tools says what a tool does. It contains the tools of well-known agents; calls
// of other tools are ignored. For agents that have only a shell, commands such as
// cat, sed -n, rg and apply_patch are understood if they are simple.
//
// A finding about a file of the project has the file's content at that time as its
// evidence: Observe records the hash when the result arrives. Caveats: another
// program can change the file between the tool's reading and the recording.
// Changes of a file that the repository's index excludes are never noticed.
package finding
