// Package model extracts a session's draft with an auxiliary model behind any
// OpenAI-compatible endpoint: one summary, and the facts that the messages say.
//
// A [Client] sends the transcript with a JSON schema, in parts when it is longer
// than the model's window, and believes nothing of what comes back:
//
//   - The messages are numbered lines of data. Nothing that stands in one can look
//     like another message or like the end of the transcript; see render.go.
//   - The answer is read leniently (fences, prose, reasoning around it) and checked
//     strictly. What is wrong goes back to the model once; see answer.go.
//   - A fact stays only if its quote stands in a message, if whoever wrote that
//     message could say such a thing, and if it is no thinking, no secret and no
//     order to the agent's memory; see check.go. Everything left out is counted
//     by reason: facts in the answers = facts kept + facts dropped.
//
// Nothing is retried but an answer of the wrong form, once a part. What fails is
// a *ken.Error: code unavailable for what may go away by itself (down, slow,
// throttled, with an *embed.Throttled when the endpoint said how long to wait), so
// that a job can come back later; code invalid for what will not (key, model,
// address, or [ErrUnusable]), where the rules that need no model are the way out.
//
// The patterns that recognise thinking, orders and suggestions know English, and
// consent in a few more languages. Elsewhere only roles, quotes, markers and
// secrets are checked, and a fact that rests on the assistant's suggestion may be
// kept or lost wrongly.
//
// Text of messages is never logged and never part of an error.
package model
