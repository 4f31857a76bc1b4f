// Package model extracts a session's draft with an auxiliary model behind any
// OpenAI-compatible endpoint: one summary, and the facts in the messages.
//
// A [Client] sends the transcript with a JSON schema, in several parts if it is
// longer than the model's window. It checks everything that the model returns:
//
//   - The messages are numbered lines of data. No text in a message can look like
//     another message or like the end of the transcript; see render.go.
//   - The answer is parsed leniently (fences, prose, reasoning around it) and checked
//     strictly. Faults are sent back to the model once; see answer.go.
//   - A fact is kept only if a message contains its quote, if the author of that
//     message could say such a thing, and if it is not reasoning, a secret or an
//     order to the agent's memory; see check.go. Dropped facts are counted
//     by reason: facts in the answers = facts kept + facts dropped.
//
// Only an answer of the wrong form is retried, once for each part. Errors are
// *ken.Error. Code unavailable is for conditions that may pass (endpoint down, slow
// or throttled; with an *embed.Throttled if the endpoint said how long to wait), so
// that a job can retry later. Code invalid is for those that won't (key, model,
// address, or [ErrUnusable]); extraction by rules is then the alternative.
//
// The patterns that recognise reasoning, orders and suggestions are English, and
// those for consent cover a few more languages. In other languages only roles,
// quotes, markers and secrets are checked, and a fact from a suggestion of the
// assistant may be kept or dropped wrongly.
//
// The text of messages is never logged and never part of an error.
package model
