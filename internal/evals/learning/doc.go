// Package learning measures what a harvest keeps of labelled sessions, and what a later session
// gets of it.
//
// A case is one line of JSON: sessions in chronological order, in which each sentence of a user
// is labelled, and the questions of the day after.
//
//	{"name": "staging", "lang": "en", "domain": "ops",
//	 "sessions": [{"at": "2026-03-02T09:00:00Z", "messages": [
//	   {"role": "assistant", "text": "How do you start the database?"},
//	   {"role": "user", "say": [
//	     {"t": "`make up`.", "is": "keep", "must": ["make up", "database"], "about": ["database"]},
//	     {"t": "Thanks!", "is": "junk", "why": "pleasantry"}]}]}],
//	 "updates": [{"q": "When do we deploy?", "new": ["thursday"], "old": ["tuesday"]}],
//	 "ask": [{"q": "start the database", "all": ["make up"]}]}
//
// Each case runs in a separate store. A claim is rated by the sentence that it came from, which
// is the one with most of its words. It is good if that sentence is worth keeping and the claim
// contains everything that the sentence must say to be understood on its own. It is junk if the
// sentence is junk, if it lacks a required part, or if it came from no sentence of a user.
//
// The texts of public conversations are not part of the project. A message with a ref has its
// text in a data set's folder; its sentences are given by number.
package learning
