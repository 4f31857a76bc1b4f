// Package jsonl is how claims leave a store and come into one: one JSON object a
// line. [Write] writes what a store knows of a claim; [Read] reads that back, and
// what other programs write.
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
// # What is refused and what is kept
//
// A line that can't be read is reported and the next one is read. Refused is
// what would otherwise be lost or guessed at: a field given twice, a value of
// another type, text that is not UTF-8, an unknown field inside evidence, scope,
// actor or history.
//
// An unknown field of the claim itself is kept under body, where a kind's own
// fields belong, so that an export from elsewhere loses nothing. The exception
// is a name that is one slip away from a known one (expire_at, Tags, txet): kept
// aside, it would silently change what the claim means, so it is refused with
// the name that was probably meant.
package jsonl
