// Package guardrail keeps text safe on its way into the store and from there
// into a model's context. Everything in it is a pure function of its input, it
// imports nothing of the project, and all of it is cheap enough to run on every
// write.
//
// A write passes through Sanitize (no control or invisible characters),
// StripReasoning (the model's thinking never becomes knowledge) and Redact (no
// credentials), in this order. Text on its way into a block passes through
// Sanitize and Neutralize (it can't close or forge the frame).
//
// StripReasoning and Neutralize read text as somebody would who does not look
// closely: any case, full-width forms, invisible characters in between, letters
// and brackets that look alike, HTML entities and JSON escapes. Where a mention
// can't be told from the thing itself, the safe reading wins; each function says
// what that costs.
//
// What no function here can do is tell a true statement from a planted one, or
// recognise instructions in plain prose. Tiers, trust and the frame's first line
// are there for that.
package guardrail
