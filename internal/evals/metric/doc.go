// Package metric measures a ranking against what is relevant, and says how sure
// one can be of a mean over questions.
//
// A ranking is a list of grades: the grade of what stands at each rank, best rank
// first, 0 for what is not relevant. All measures are fractions from 0 to 1, and 0
// where nothing is relevant. The package is pure: no time, no randomness but the
// seed that it is given.
package metric
