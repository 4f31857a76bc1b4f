// Package use determines which items of a block the model's answer used. It is a pure function: it
// uses no model, clock or state.
//
// An item counts as
//
//   - cited, if the answer contains its short id, as in [k:3f9a1c], or its source, and nothing
//     else that the model read contains it;
//   - repeated, if the answer says what only this item says: terms that neither the conversation,
//     nor a tool result, nor another item has. A term's weight depends on how rare such terms are
//     (see weightOf), and adjacent terms weigh more; see repeats for the thresholds;
//   - tool ok, if a tool was called with an identifier, number or path that only this item has,
//     and the call did not fail;
//   - corrected, if it was used and the user's next message says that this was wrong.
//
// A term counts only if it can come from a single text. So an external text can't make another item
// look used by naming it: a name or term in two texts counts for neither. The rules that depend on
// words, such as correction, are for English. They rather miss a use than report a wrong one.
package use
