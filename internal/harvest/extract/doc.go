// Package extract draws what a session taught out of its transcript by rules,
// without a model: an episode to find it by, and statements that stand by
// themselves.
//
//	transcript ─→ speeches ─→ sentences ─→ candidates ─→ chosen ─→ statements
//	                  └─────→ work (files, commands) ───────────→ summary
//
// What people say is the source. A user's words count, and where both sides have
// names, as in a chat of two people, both do. An assistant's words count for what
// it did, for the line that says where the session stopped, and for a proposal that
// the user accepted. They never become a fact: a model's retelling is not knowledge.
// Tool results are read for whether a command failed, and for nothing else.
//
// A statement is the speaker's own sentence, verbatim, behind the speaker's name:
//
//	User: I prefer tabs over spaces.
//	Ana: I moved to Lyon last month (April 2023).
//	The staging database is pg-7.
//
// Nothing is put into other words, because each rewriting rule is wrong somewhere
// and a wrong fact with a right quote is hard to notice. What changes: openings
// that say nothing ("By the way,"), a request behind the last comma ("…, can you
// help?"), and the date that "yesterday" stands for, added in parentheses. The name
// is left out where the sentence speaks of nobody.
//
// Questions, small talk, requests for now, code, logs, pasted text, what speaks of
// something that is not named, secrets, and orders that are aimed at the memory
// itself are never statements. Nor is a plain fact that package trained holds for
// worth little later. Draft.Dropped counts them by reason.
//
// Caveats. The words that the rules know are English; in other languages a sentence
// counts by its names, numbers and dates alone. There is no grammar behind it: what
// is ironic, hypothetical without saying so, or taken back later is believed.
package extract
