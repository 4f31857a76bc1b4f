// Package intent reads from the last messages of a conversation what knowledge
// the turn needs.
//
// [Analyze] is a pure function: the same messages give the same signals, nothing
// is stored and no model is asked. It is about the last user message. In a tool
// loop, where assistant and tool messages follow it, the newest tool results add
// failures only: a file that a tool printed is not what the user asks about.
//
// A turn that could not use knowledge (thanks, greetings, "yes please do", an
// emoji) does not ask: retrieval is skipped and the earlier blocks stand. When
// in doubt it asks. A question that names nothing itself ("and why is that?")
// takes its signals from the user message before it as well.
//
// Caveats. Names are recognised by capitals, quotes and possessives, so scripts
// without case yield only quoted names; small talk is known in English and, for
// its commonest words, a dozen other languages. Of a long message the beginning
// and the end are read, so that a pasted log costs no more than a page.
package intent
