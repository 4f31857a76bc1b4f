// Package intent determines from the last messages of a conversation which knowledge the turn
// needs.
//
// [Analyze] is a pure function: the same messages give the same signals, nothing is stored and no
// model is called. It analyzes the last user message. In a tool loop, where assistant and tool
// messages follow it, the newest tool results only add failures: a file that a tool printed is not
// what the user asks about.
//
// A turn that knowledge can't help (thanks, greetings, "yes please do", an emoji) does not ask:
// nothing is retrieved, and earlier blocks stay. In doubt it asks. A question that names nothing
// itself ("and why is that?") also gets the signals of the user message before it.
//
// Limitations: names are recognized by capitals, quotes and possessives, so in scripts without case
// only quoted names are found. Small talk is recognized in English and, for its most common words,
// in a dozen other languages. Of a long message only the beginning and the end are read, so that a
// pasted log costs no more than a page.
package intent
