// Package extract summarises by rules, without a model, what a session's transcript
// teaches: an episode to find the session by, and statements that can be understood
// on their own.
//
//	transcript ─→ speeches ─→ sentences ─→ candidates ─→ chosen ─→ statements
//	                  └─────→ work (files, commands) ───────────→ summary
//
// Statements come from what people say. These are the user's words or, in a chat of
// two people with names, the words of both. An assistant's words are used for what
// it did, for the line that says where the session stopped, and for a proposal that
// the user accepted. They never become a fact, since a model's retelling is not
// knowledge. Of a tool's result, only whether the command failed is used.
//
// A statement is the speaker's own sentence, verbatim, after the speaker's name:
//
//	User: I prefer tabs over spaces.
//	Ana: I moved to Lyon last month (April 2023).
//	The staging database is pg-7.
//
// Sentences are not reworded, because a rewriting rule is sometimes wrong, and a
// wrong fact with a correct quote is hard to notice. Only this changes: empty
// openings ("By the way,"), the polite words before a rule ("Could you please always …")
// and a request before or behind a fact ("…, can you help?") are cut, and the date that
// "yesterday" means is added in parentheses. Words typed without their apostrophe ("dont")
// are read as if they had it, and stay as they are in the text. The name is left out where the sentence is
// about no person.
//
// These are never statements: questions, small talk, requests for now, code, logs,
// pasted text, wishes, hearsay, sentences about something that they do not name, secrets,
// and orders to the memory itself. Neither is a plain fact to which package trained gives a low
// score. Draft.Dropped counts them by reason.
//
// Caveats. Full rules exist for English only; other languages have shorter lists of
// phrases, see lang.go. The rules know no grammar. Irony, an unmarked hypothesis and
// a later retraction are taken for statements.
package extract
