// Package repository turns a folder of files and its git history into claims. Markdown is cut by heading, Go by
// declaration, any other text by blocks. A commit yields its message.
//
// The files are the truth and the index is a projection of them. Index walks the tree, cuts what has changed into
// chunks, and calls a Sink to put and remove them. Another run reads only what has changed since. A Document is one
// file or one commit. Its chunks are claims of kind document. Their evidence names the file, the line and the hash of
// the content (or the commit), so a reader can open the source, and evidence from a changed file becomes invalid.
//
// Caveats:
//
//   - A file that can't be read is treated as deleted. The next run that can read it adds the same chunks again, with
//     the same ids.
//   - Secrets are recognized by file name and by content. This finds many, but is no guarantee. Report.Withheld
//     lists what was found.
//   - A file that git tracks although .gitignore names it is ignored here.
//   - Symbolic links are never followed.
package repository
