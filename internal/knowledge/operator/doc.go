// Package operator carries out a person's decisions about claims: it verifies, disputes, supersedes, archives, corrects and
// forgets them, and reviews candidates. The REST API, the command line and the console all use it, so that the same rules
// apply in all of them.
//
// [Keys] are the gateway keys that a person issues.
//
// A [Desk] acts with a person's authority: its caller must have checked that the user may do so. Every change records the
// person as the actor, and has the person as evidence where evidence is needed.
//
// Several desks, in several processes, may decide about one claim concurrently. The store checks each transition when it is
// made. Of two decisions that exclude each other, one is carried out and the other is refused. A verification or a verdict
// that somebody else made meanwhile is no error.
package operator
