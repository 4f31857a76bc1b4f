// Package jobs is a durable queue for work that must outlive the process that asked for it. It is stored on the
// owner's shelf, so a job can be added in the same transaction as the data it refers to.
//
// [Queue.Drain] runs all jobs that are due and returns; [Queue.Work] runs jobs until its context ends. A job is
// leased to one worker at a time, and the lease is renewed while its handler runs. When a worker dies, another
// worker takes its job over: as soon as it knows that the process is gone, or else when the lease expires. Any
// number of processes may work on one shelf. A job whose handler fails is tried again after a pause. After
// [Options.Attempts] attempts it is dead: it stays, with its error, until somebody retries it. An attempt counts
// from its beginning. So a job that crashes the process is not run at every start: after three such attempts in
// a row it is dead.
//
// A job runs at least once. If a worker dies after its handler finished and before the result is recorded, the
// job runs again. So a handler must be idempotent: it writes under keys derived from the job. A kind and a key
// identify one job; adding it again, even after it is done, adds nothing.
//
// # Clocks
//
// Due times and leases are times of the wall clock, because they must mean something to the next process. Within
// a process the queue compares the wall clock with the monotonic one. When the wall clock is set forward, a
// lease held by a living process counts as expired only after it was not renewed for its whole length, so no job
// runs twice at once. When the wall clock is set back, pauses and leases that now end too far in the future are
// shortened, so no job waits for a wrong time. A [New.After] is a date and does not change.
//
// # Layout
//
//	jobs/job/ID                the job, as JSON
//	jobs/state/STATE/TIME/ID   its kind; TIME is when it is due, until when it is
//	                           leased, or when it finished
package jobs
