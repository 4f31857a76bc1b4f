// Package pairs mines a repository for pairs of texts that belong together, with
// which an embedder can be tuned to it (package internal/embed/adapt):
//
//   - heading: a Markdown heading and its section;
//   - decision: the title of a decision record and its sections;
//   - comment: a doc comment and what it describes. Go is read by go/parser, other
//     languages by what stands above a declaration or as a string at its head;
//   - path: the words of a file's path and its content;
//   - commit: a commit's subject and its body;
//   - commit code: a commit's subject and the lines that it added.
//
// The passages are what package repository cuts, so that whatever it leaves out,
// by ignore rules or as a secret, is left out here; secrets in what remains are
// redacted. A passage lacks the headings, comments and subjects that pairs were
// made of, else finding it would be no task.
//
// The same files and history give the same pairs in the same order.
package pairs
