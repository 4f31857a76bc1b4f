// Package classify files claims in the background: it finds out under which aspect a
// claim belongs, whether it is a rule, and which dependencies it states.
//
// Pass 1 runs within each write and has no model: see package reading. What comes
// after it is here:
//
//   - Rules derive dependencies from what claims say, at once: [Derive]. They also file
//     claims that were there before there was a structure.
//   - Pass 2a, jobs of kind [JobClassify], asks a model for aspect and kind, for some
//     facts of one entity at a time.
//   - Pass 2b, jobs of kind [JobDependency], asks it for dependencies, of those facts
//     only that name something else that is known.
//
// # How nothing is missed
//
// The log is the list of what is to be done. A [Classifier] follows it from a mark on
// the shelf: every claim that was written, whoever wrote it and in whichever process,
// is looked at once by the rules and once for the model, and the mark moves in the
// transaction that adds the jobs. The backfill is the same walk, from the log's
// beginning: a store without a mark has all of it before it, and so has one for which
// a model is configured later. Nothing waits for it, no turn and no write.
//
// # What a model can't do
//
// A model's answer changes aspect, kind and dependencies, and nothing else. It names
// the rows that it was given, aspects of at most three words, targets that are known
// and types that exist; whatever else it says is refused and counted, never guessed
// at. It can't take a rule back, can't make one of what an external source says, and
// can't move what an operator decided. What an external source or somebody who talks
// to the model says is asked about alone, so that it speaks for its own row at most.
// What the model leaves out is asked for once more, alone; after that the rules'
// assignment stays. Answers that can't be read lose nothing.
//
// Everything may run twice, at the same time, in any order, and be killed anywhere:
// an assignment is idempotent, dependencies have keys that say what they are, and a
// job looks at each claim as it is by then.
//
// # On the shelf
//
//	classify/rules    how far the rules have come
//	classify/model    how far jobs were added
//	classify/counts   what was done, for Status
package classify
