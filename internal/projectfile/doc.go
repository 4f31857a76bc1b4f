// Package projectfile reads and writes files that people keep in their project. It
// never follows a symbolic link, never leaves the project's folder, and never
// leaves a file half written.
//
// Commit changes several files or none, and only if they are unchanged since the
// caller read them. Lock excludes other processes that lock the same name. Both are
// for files of at most a few megabytes.
//
// Caveat: a power failure between the files of one Commit leaves the first ones
// changed. Each single file is old or new.
package projectfile
