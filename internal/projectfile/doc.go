// Package projectfile reads and writes files that people keep in their project:
// never through a symbolic link, never outside of the project's folder, and never
// half.
//
// Commit changes several files or none, each only if it still is what the caller
// has seen. Lock keeps other processes that ask for the same name out. Both are for
// files of at most a few megabytes.
//
// Caveat: a power failure between the files of one Commit leaves the first ones
// changed. Each file by itself is old or new.
package projectfile
