// Package lifecycle archives, demotes and deletes old knowledge by a policy. It
// implements "ken knowledge gc". A [Policy], read from a file that the team commits,
// says how long things are kept. [Plan] compares it with the current state and lists
// what would change and why; [Apply] makes the changes, each independently. Both use the
// same rules, so a dry run shows what happens.
//
// No valid knowledge is lost: claims are archived, not deleted, and [Archived] finds
// them. Only machine state is deleted: journals of harvested sessions, completed jobs,
// old event files, index entries of deleted files, and what the project marks as
// ephemeral. Files of superseded decisions are moved to an archive folder beside them.
package lifecycle
