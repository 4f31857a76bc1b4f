// Package pattern finds what recurs in the work on a project: commands that
// succeed, tests that pass, files that are changed again and again, commands that
// keep failing. No model is asked.
//
// What it returns are candidates: claims of kind pattern with status hypothesis,
// which nothing injects before a person has approved them. Their keys are the same
// in every session, so that a later session reinforces what an earlier one wrote.
//
// An exit code that nobody named is no evidence. There are two inferences, both
// written into the evidence: a tool that names codes other than 0 and says nothing
// else means 0 by silence; and a test run whose whole output reports tests that
// passed and none that failed has succeeded, on the word of its runner rather than
// of its exit code.
package pattern
