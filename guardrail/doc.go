// Package guardrail makes text safe to store and to put into a model's context.
// All functions are pure functions of their input, the package imports nothing
// of the project, and everything is cheap enough to run on every write.
//
// A write passes through Sanitize (removes control and invisible characters),
// StripReasoning (a model's reasoning never becomes knowledge) and Redact
// (removes credentials), in this order. Text for a block passes through Sanitize
// and Neutralize (it can't close or forge the frame).
//
// StripReasoning and Neutralize also recognise disguised markers: in any case,
// in full-width form, with invisible characters inside, with look-alike letters
// and brackets, as HTML entities or JSON escapes. Where a mention of a marker
// can't be distinguished from a marker, it is treated as a marker; each function
// says what that costs.
//
// No function here can distinguish a true statement from a planted one, or
// recognise instructions in plain prose. Tiers, trust and the first line of the
// frame handle that.
package guardrail
