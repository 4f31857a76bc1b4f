// Package alive tells which processes are still running.
//
// A process announces itself with a file named by its id, and keeps that file
// locked while it runs. The operating system releases the lock when the process
// ends, for whatever reason. Unlike a process id, this works between processes that
// can't see each other, such as several containers that share a folder, and an id
// is never reused after a restart.
package alive
