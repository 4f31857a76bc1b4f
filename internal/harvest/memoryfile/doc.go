// Package memoryfile keeps MEMORY.md: what the layer holds in every turn and what
// it would like to, as text that people read, commit and edit.
//
// The file is generated. Each line under a heading is one claim:
//
//   - [x] Use tabs in Makefiles. <!-- ken:018f… hot -->
//   - [ ] Shell command succeeds: `go test ./...` <!-- ken:018f… pattern, seen 12 times, last 2026-11-20 -->
//
// A box that is ticked means that the claim is in every turn, an empty one that it
// is a candidate, and [-] rejects it. Ticking a box, changing a text and adding a
// line without a comment are edits, which Sync applies to the store. A line that
// is taken out comes back: reject it instead. A sum at the end tells an edited
// file from one that nobody touched. A file that can't be read is never written.
package memoryfile
