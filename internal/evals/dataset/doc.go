// Package dataset reads evaluation sets: what to remember, what to ask, and what
// would have been the right thing to find.
//
// Open looks at a folder or file and tells its format by itself:
//
//	beir          corpus.jsonl, queries.jsonl, qrels/*.tsv
//	locomo        one JSON array of conversations with "conversation" and "qa"
//	longmemeval   one JSON array of questions, each with its "haystack_sessions"
//	claims        an export of Ken's claims, and queries.jsonl beside it
//
// Questions may also be lines {"_id", "text", "relevant": [ids], "metadata": {…}},
// which is what generated questions look like, and what queries.jsonl of every
// folder may hold instead of qrels.
//
// A question's metadata may give its category (category, type or question_type)
// and its conv: it then searches the records of that conversation alone.
//
// Records are streamed: only the questions and what is relevant to them stay in
// memory. A line that can't be used is an error with file, line and field, never
// a record less: a figure over part of a set is another figure.
package dataset
