// Package pattern finds what recurs in the work on a project: commands that
// succeed, tests that pass, files that are changed repeatedly, commands that keep
// failing. No model is involved.
//
// It returns candidates: claims of kind pattern with status hypothesis, which are
// not injected before a person approves them. Their keys are the same in every
// session, so that a later session reinforces the claims of an earlier one.
//
// An unknown exit code is no evidence. There are two inferences, both recorded in
// the evidence. If a tool only ever names codes other than 0, a result without a
// code means 0. And if the complete output of a test run reports tests that passed
// and none that failed, the run succeeded according to its runner.
package pattern
