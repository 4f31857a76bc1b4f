// Package jsonl exports and imports claims as JSON lines: one JSON object per line.
// [Write] writes a claim and its history; [Read] reads that back, and also reads lines
// that other programs write.
//
// # Fields
//
// Only text is required. Names are those of ken.Claim in JSON, and history:
//
//	id key owner kind heading text body evidence status confidence importance
//	scope project session_id branch_id actor domain tags entities aspect constraint
//	assigned_by source source_type created_at updated_at expires_at archived_at
//	supersedes superseded_by reinforcements reinforced_at history
//
// Also read are claim_status for status, scope_type and scope_id for scope, and
// actor_type and actor_id for actor. A missing kind is fact, a missing status
// observed, confidence 1, importance 0.5. Without evidence, the evidence is the
// line that was imported. null means missing.
//
// A time is an RFC 3339 string, a date (midnight UTC), or a number of seconds
// since 1970, of which 0 means missing. A line with a key can be imported again:
// the key tells the store that it has it.
//
// # Errors and unknown fields
//
// A line that can't be read is reported and the next one is read. It is an error if
// data would otherwise be lost or guessed: a field given twice, a value of another
// type, text that is not UTF-8, an unknown field inside evidence, scope, actor or
// history.
//
// An unknown field of the claim itself is kept in body, where the fields of a kind
// belong, so that an export from another program loses nothing. The exception is a name
// that differs from a known one by one typing error (expire_at, Tags, txet). Keeping it
// in body would silently change what the claim means, so it is an error that names the
// field that was probably meant.
package jsonl
