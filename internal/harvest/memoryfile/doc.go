// Package memoryfile maintains MEMORY.md: the claims in every turn and the candidates for it, as text that
// people read, commit and edit.
//
// The file is generated. Each line under a heading is one claim:
//
//   - [x] Use tabs in Makefiles. <!-- ken:018f… hot -->
//   - [ ] Shell command succeeds: `go test ./...` <!-- ken:018f… pattern, seen 12 times, last 2026-11-20 -->
//
// A ticked box means that the claim is in every turn, an empty one that it is a candidate, and [-] rejects
// it. Ticking a box, changing a text and adding a line without a comment are edits, which Sync applies to
// the store. A deleted line is written again; to remove a claim, reject it. A checksum at the end shows
// whether the file was edited. A file that can't be parsed is never overwritten.
package memoryfile
