// Package learning measures what a harvest keeps of labelled sessions, and what a later
// session is told of it.
//
// A case is one line of JSON: sessions in the order of time, in which each sentence of a user is
// labelled, and the questions of the day after.
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
// Each case runs in a store of its own. A claim is judged by the sentence that it came from: the
// one that has most of its words. It is good if that sentence is worth keeping and the claim has
// all that the sentence must say to be understood by itself; it is junk if the sentence is, if it
// lacks what it must have, or if it came from no sentence of a user.
//
// The texts of public conversations are not part of the project. A message with a ref has its
// text in a data set's folder, and its sentences there by their numbers.
package learning
