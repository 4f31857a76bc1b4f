// Package dataset reads evaluation sets: records to store, questions to ask, and which
// records are relevant to each question.
//
// Open detects the format of a folder or file:
//
//	beir          corpus.jsonl, queries.jsonl, qrels/*.tsv
//	locomo        one JSON array of conversations with "conversation" and "qa"
//	longmemeval   one JSON array of questions, each with its "haystack_sessions"
//	claims        an export of Ken's claims, and queries.jsonl beside it
//
// Questions may also be lines {"_id", "text", "relevant": [ids], "metadata": {…}}.
// Generated questions have this form, and queries.jsonl of every folder may have it
// instead of qrels.
//
// A question's metadata may contain its category (category, type or question_type) and
// its conv. With conv, it only searches the records of that conversation.
//
// Records are streamed: only the questions and their relevant ids stay in memory. A
// line that can't be used is an error with file, line and field. It is never skipped,
// because a result for part of a set can't be compared with others.
package dataset
