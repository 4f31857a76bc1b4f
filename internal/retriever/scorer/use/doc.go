// Package use judges which items of a block the model's answer used. It is pure: no
// model, no clock, no state.
//
// An item counts as
//
//   - cited, when the answer names its short id, as in [k:3f9a1c], or its source, and
//     nothing else that the model read brought that name up;
//   - repeated, when the answer says what only this item said: terms that neither the
//     conversation, nor a tool result, nor another item has. A term weighs by how rare
//     such terms are (see weightOf), neighbours that stand together in both weigh
//     more; see repeats for the thresholds;
//   - tool ok, when a tool was called with an identifier, number or path that only this
//     item has, and the call did not fail;
//   - corrected, when it was used and the person's next message says that this was
//     wrong.
//
// What counts is where a term can only have come from, so an external text can't make
// another item look used by naming it: a name or a term that two texts have counts for
// neither. The rules are English where they read words, as correction does; they
// prefer to miss a use over claiming one.
package use
