// Package classify files claims in the background: it determines the aspect of a
// claim, whether it is a rule, and which dependencies it states.
//
// Pass 1 runs within each write and needs no model; see package reading. This package
// does the later steps:
//
//   - Rules derive dependencies from what claims say, at once: [Derive]. They also file
//     claims that are older than the structure.
//   - Pass 2a, jobs of kind [JobClassify], asks a model for aspect and kind, for some
//     facts of one entity at a time.
//   - Pass 2b, jobs of kind [JobDependency], asks it for dependencies, but only of facts
//     that name another known thing.
//
// # How every claim is processed
//
// The log is the work list. A [Classifier] reads it from a position that it keeps on
// the shelf. Every claim that was written, by any process, is processed once by the
// rules and once for the model. The position is updated in the same transaction that
// adds the jobs. A backfill works the same way, from the start of the log: a store
// without a position is processed from the start, and so is one for which a model is
// configured later. No turn and no write waits for it.
//
// # What a model can't do
//
// A model's answer changes aspect, kind and dependencies, and nothing else. It may
// name the rows that it was given, aspects of at most three words, known targets and
// existing types. Anything else is refused and counted. It can't make a rule an
// ordinary fact, can't make a rule of an external source's text, and can't change
// what an operator decided. A claim from an external source, or one that addresses
// the model, is asked about alone, so that it can only affect its own row. A fact
// that the model leaves out is asked about once more, alone; after that it stays as
// the rules filed it. An answer that can't be parsed loses nothing.
//
// Every step may run several times, concurrently, in any order, and be killed at any
// point: an assignment is idempotent, the key of a dependency is derived from its
// content, and a job reads the current state of each claim.
//
// # On the shelf
//
//	classify/rules    position of the rules in the log
//	classify/model    position up to which jobs were added
//	classify/counts   what was done, for Status
package classify
