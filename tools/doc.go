// Package tools is what an agent can do with what Ken knows: search it, learn,
// verify, dispute, ask why something was injected. A [Registry] holds the tools once,
// for every way in: function calling (its method OpenAI, and package openaitools for
// go-openai) and MCP (package internal/tools/mcp).
//
// A tool is a name, a description, a Go type for what goes in and one for what comes
// out, what it does to the knowledge, and the right that it takes. Schemas follow from
// the types. Adding one is a file that calls [Define] and a line in registry.go, or a
// call of [Registry.Add] from elsewhere.
//
// # Who calls
//
// Every call has a [Caller], which whoever runs the tools makes of what he knows:
// the process, a key, a session. Owner, project, session and scope are never taken
// from arguments, which a model wrote. A claim of another owner, or outside of the
// caller's scopes, is not found.
//
// # What an agent may do
//
//   - What it learns has an agent's trust at most, whatever it cites; a web page or a
//     tool's result makes it external.
//   - It can't verify by its own word. A test result or an exit code counts as hard
//     evidence only if Ken has seen that run in the journal of the caller's session, a
//     commit if it is there, a file if Ken can read and hash it. Everything else is
//     kept as the agent's assertion, and the answer says so.
//   - It can't erase: forget_memory leaves a mark in the attention queue, and a person
//     confirms with ken forget. The same holds for disputing what a person put into
//     every turn.
//   - What Ken showed it in a session is not learned again from it in that session,
//     and a known claim is not reinforced by being told again.
//
// # Which tools are listed
//
// A list of tools is in every request of an agent and costs tokens, so a [Profile] says
// which are offered: see Caller.Offer, [Select] and caller.go. It limits no right. Two
// tools are older names for the act of a listed one, and are answered, not listed.
//
// # Answers
//
// An answer has two forms that say the same: a text for a model of at most MaxText
// characters, and JSON for programs that fits the tool's output schema. Both begin with
// the notice that they are reference data, and mark what is external. Words of claims
// stand in the frame of a block, with the tier, the trust and the source of each, and
// can't close it. The frame keeps them out of journals, and so from being learned as
// something new.
//
// Arguments are checked against the schema before anything runs. What is wrong comes
// back as a text that says how to mend the call: see [Explain].
package tools
