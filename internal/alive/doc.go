// Package alive tells which processes are still running.
//
// A process announces itself with a file that bears its id, and keeps that file
// locked for as long as it runs. The operating system takes the lock back when the
// process ends, whatever ended it, so that nobody has to be trusted to say goodbye.
// Unlike a process id, this works for processes that can't see each other, as in
// several containers over one folder, and is never another process's after a
// restart.
package alive
