// Package lifecycle archives, demotes and deletes old knowledge by a policy. It is the
// engine of "ken knowledge gc". A [Policy], read from a file that the team commits, says
// how long things are kept. [Plan] compares that with what is there and says what
// would change and why; [Apply] makes the changes, each by itself. Both look at the
// same rules, so what a dry run shows is what happens.
//
// Nothing is lost by it that was ever held to be true: claims are archived, not
// deleted, and [Archived] finds them. What is deleted is the state of a machine:
// journals of sessions that were harvested, jobs that are done, old event files,
// entries of files that are gone, and what the project marks ephemeral. Files of
// superseded decisions move to an archive beside them.
package lifecycle
