// Package tools provides Ken's tools for agents: search the knowledge, learn, verify and
// dispute claims, and explain why a claim was injected. A [Registry] holds the tools for
// every interface: function calling (its method OpenAI, and package openaitools for
// go-openai) and MCP (package internal/tools/mcp).
//
// A tool has a name, a description, a Go type for its arguments, one for its answer, an
// effect on the knowledge, and the right that it needs. Schemas follow from the types.
// Adding one is a file that calls [Define] and a line in registry.go, or a
// call of [Registry.Add] from elsewhere.
//
// # The caller
//
// Every call has a [Caller], which the program makes from the process, a key or a
// session. Owner, project, session and scope are never taken from arguments, which a
// model wrote. A claim of another owner, or outside of the caller's scopes, is not found.
//
// # What an agent may do
//
//   - What it learns has an agent's trust at most, whatever it cites; a web page or a
//     tool's result makes it external.
//   - It can't verify with its own word. A test result or an exit code counts as hard
//     evidence only if Ken has seen that run in the journal of the caller's session, a
//     commit if it is there, a file if Ken can read and hash it. Everything else is
//     kept as the agent's assertion, and the answer says so.
//   - It can't erase: forget_memory leaves a mark in the attention queue, and a person
//     confirms with ken forget. The same holds for disputing what a person put into
//     every turn.
//   - A claim that Ken showed it is not learned again in the same session, and
//     repeating a known claim does not reinforce it.
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
// the notice that they are reference data, and mark external claims. Text of claims stands
// in the frame of a block, with the tier, the trust and the source of each claim, and can't
// close the frame. Journals leave framed text out, so it is not learned again.
//
// Arguments are checked against the schema before anything runs. An error says how to
// correct the call: see [Explain].
package tools
