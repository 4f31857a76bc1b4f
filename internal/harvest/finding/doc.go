// Package finding turns what an agent's tools returned into knowledge: what a file
// is, where something is used, what was changed, who owns it, what was decided,
// what a project requires, and what keeps failing and why. No model is asked.
//
//	entries ─→ Calls (call and result, by role) ─→ Extract ─→ Finding.Claim
//
// A finding is a statement of a line or two, not a copy of the output. What a tool
// is for is a table, Tools, with the tools of the well-known agents in it; what is
// not in the table is left alone. Agents that have only a shell are understood as
// far as a plain cat, sed -n, rg or apply_patch goes.
//
// A finding about a file of the project rests on the file's content as it was:
// Observe notes the hash when the result comes in. Caveats: between the tool's
// reading and the noting there is a moment in which another program can write; a
// file that the repository's index leaves out is never seen to change.
package finding
