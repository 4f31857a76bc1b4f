// Package metric measures a ranking against the relevant records, and computes
// confidence intervals of means over questions.
//
// A ranking is a list of grades, best rank first; the grade of a record that is not
// relevant is 0. All measures are fractions from 0 to 1, and 0 if nothing is relevant.
// The package is deterministic: it uses no time, and no randomness except the given
// seed.
package metric
