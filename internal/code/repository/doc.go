// Package repository turns a folder of files and its git history into claims:
// Markdown by heading, Go by declaration, any other text by blocks, a commit by
// its message.
//
// The files are the truth and the index is a projection of them. Index walks
// the tree, cuts what has changed into chunks, and tells a Sink what to put and
// what to remove; run it again and only the changes are read. A Document is one
// file or one commit; its chunks are claims of kind document whose evidence
// names the file, the line and the hash of the content (or the commit), so that
// a reader can open what is quoted and a changed file stops standing as
// evidence.
//
// Caveats:
//
//   - What can't be read is treated as gone. A projection may forget: the next
//     run that can read the file brings the same chunks back, with the same ids.
//   - Secrets are kept out by file name and by content. That is a net with
//     holes, not a guarantee; Report.Withheld says what it caught.
//   - A file that git tracks although .gitignore names it is ignored here.
//   - Symbolic links are never followed.
package repository
