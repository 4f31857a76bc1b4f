// Package tools provides Ken's tools for agents: search the knowledge, learn, verify and
// dispute claims, and explain why a claim was injected. A [Registry] holds the tools for
// every interface: function calling (its method OpenAI, and package openaitools for
// go-openai) and MCP (ken mcp, ken serve).
//
// A tool has a name, a description, Go types for its arguments and its answer, an effect on the
// knowledge, and a required right. Schemas are derived from the types. To add a tool, call
// [Define] and [Registry.Add].
//
// # The caller
//
// Every call has a [Caller], which the program creates from the process, a key or a session. Owner,
// project, session and scope never come from arguments, because a model wrote those. Claims of
// other owners, and claims outside the caller's scopes, are not found.
//
// # What an agent may do
//
//   - What it learns has at most an agent's trust, whatever evidence it gives. A web page or a
//     tool's result as evidence makes the claim external.
//   - It can't verify a claim with its own assertion. A test result or an exit code counts as
//     hard evidence only if the journal of the caller's session has that run, a commit if it
//     exists, and a file if Ken can read and hash it. Everything else is stored as the agent's
//     assertion, and the answer says so.
//   - It can't erase. forget_memory adds a mark to the attention queue, and a person confirms
//     it with ken forget. Disputing a claim that a person put into every turn works the same way.
//   - A claim that Ken showed to it is not learned again in the same session, and repeating a
//     known claim does not reinforce it.
//
// # Which tools are listed
//
// A list of tools is part of every request of an agent and costs tokens. A [Profile] therefore says
// which tools are listed: see Caller.Offer and [Select]. It does not limit rights. Two
// older tool names are not listed, but still work.
//
// # Answers
//
// An answer has two forms with the same content: a text for models of at most MaxText characters,
// and JSON for programs that matches the tool's output schema. Both begin with a note that they are
// reference data, and mark external claims. In the text, claims are inside the frame of a block,
// with tier, trust and source, and their text can't close the frame. Journals omit framed text, so
// it is not learned again.
//
// Arguments are validated against the schema before a tool runs. An error says how to correct the
// call: see [Explain].
package tools
