// Package mapped bounds how much of the files that a process maps counts as its
// memory. What is read of a mapped file stays counted until the file is closed, although
// the system has it in its page cache anyway: a process that reads a store once looks as
// large as the store. Release gives such pages up; they stay in the page cache, and the
// next access finds them there.
package mapped
