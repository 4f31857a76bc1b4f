// Package jobs is a durable queue for work that must outlive the process that
// asked for it. It lives on the owner's shelf, so that a job is added in the same
// transaction as what it is about: either both are there or neither.
//
// A [Queue] runs jobs with [Queue.Drain], once, or [Queue.Work], for as long as
// its context lives. A job is leased to one worker at a time, and the lease is
// renewed while its handler runs. The lease of a worker that dies is over as soon as
// another one knows that its process is gone, or else when it expires, and that one
// takes the job over. Any number of processes may work on one shelf. A handler that fails is tried again after a
// pause, and after so many attempts the job is dead: it says why, stays, and runs
// again when somebody asks for it. An attempt counts from when it begins, so that a job
// which ends the process is not run again at every start: after three such attempts in a
// row it is dead.
//
// A job runs at least once. A worker that dies after its handler has finished,
// but before that is recorded, makes it run again, so a handler must change
// nothing the second time: it writes under keys that follow from the job.
// What a kind and a key name is one job; adding it again, even after it is done,
// adds nothing.
//
// # Clocks
//
// Due times and leases are times of the wall clock, because they must mean
// something to the next process. Within a process the queue compares the wall
// clock with the monotonic one. When the wall clock was set forward, a lease of
// this process, or of another one that is known to live, is not taken for expired
// before it has stood still for its whole length, so no job runs twice at once. When it was set back, pauses and leases
// that now lie in the future are cut to what is left of them, so no job waits for
// a time that was a mistake. A [New.After] is a date and stays.
//
// # Layout
//
//	jobs/job/ID                the job, as JSON
//	jobs/state/STATE/TIME/ID   its kind; TIME is when it is due, until when it is
//	                           leased, or when it finished
package jobs
