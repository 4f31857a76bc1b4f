// Package pairs mines a repository for pairs of texts that belong together. Package internal/embed/adapt tunes an
// embedder with them:
//
//   - heading: a Markdown heading and its section;
//   - decision: the title of a decision record and its sections;
//   - comment: a doc comment and what it describes. Go is parsed by go/parser. In other languages, the comment is the one
//     above a declaration or the string at its beginning;
//   - path: the words of a file's path and its content;
//   - commit: a commit's subject and its body;
//   - commit code: a commit's subject and the lines that it added.
//
// The passages are those of package repository, so files excluded by ignore rules or as secrets are not read. Secrets
// in the remaining text are redacted. The headings, comments and subjects that became questions are removed from the
// passages; otherwise finding the passage would be trivial.
//
// The same files and history give the same pairs in the same order.
package pairs
