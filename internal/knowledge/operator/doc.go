// Package operator carries out a person's decisions about claims: it verifies, disputes,
// supersedes, archives, corrects and forgets them, and reviews candidates. The REST API, the command line and the console decide through
// it, so that a rule holds in all of them.
//
// [Keys] are the keys of the gateway that a person hands out.
//
// A [Desk] speaks with a person's voice: whoever gets one has found out before that
// the caller may do so. Every change is put down to the person, and stands on the
// person's word where it needs evidence.
//
// Any number of desks, in any number of processes, may decide about one claim at
// once. The store checks each step of a claim's life when it is made: of two
// decisions that exclude each other one is carried out and the other one is refused,
// and a verification or a verdict that somebody else gave meanwhile is no error.
package operator
