package metric

import (
	"math/rand/v2"
	"slices"
)

// Rounds is the number of resamples for a confidence interval: enough for two stable
// digits of a 95 % interval (Efron and Tibshirani 1993 recommend 1,000).
const Rounds = 1000

// Draws holds resamples of n questions, each with n questions drawn with replacement.
// All measures and modes use the same draws, so that comparisons are made on the same
// questions. It is immutable after NewDraws and safe for concurrent use.
type Draws struct {
	n    int
	each [][]int32
}

// NewDraws makes Rounds resamples of n questions. The same seed and n give the
// same draws.
func NewDraws(n int, seed uint64) *Draws {
	d := &Draws{n: n}
	if n == 0 {
		return d
	}
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	d.each = make([][]int32, Rounds)
	all := make([]int32, Rounds*n)
	for i := range d.each {
		d.each[i] = all[i*n : (i+1)*n]
		for j := range d.each[i] {
			d.each[i][j] = int32(r.IntN(n))
		}
	}
	return d
}

// Interval returns the 95 % percentile interval of the mean of n values: the 2.5th and
// the 97.5th percentile of the means of the resamples. It returns 0, 0 for no values.
func (d *Draws) Interval(values []float64) (low, high float64) {
	means := d.means(values)
	return Percentile(means, 2.5), Percentile(means, 97.5)
}

func (d *Draws) means(values []float64) []float64 {
	if len(values) != d.n {
		panic("metric: draws of another number of questions")
	}
	means := make([]float64, len(d.each))
	for i, draw := range d.each {
		sum := 0.0
		for _, at := range draw {
			sum += values[at]
		}
		means[i] = sum / float64(d.n)
	}
	return means
}

// Difference is the difference between two runs over the same questions.
type Difference struct {
	Mean float64 // mean of after minus before
	Low  float64 // lower end of its 95 % interval
	High float64
	// P is the two-sided bootstrap probability of a difference at least as far from
	// zero when there is none, and at least 1/(Rounds+1).
	P float64
}

// Real reports whether the interval excludes zero.
func (d Difference) Real() bool { return d.Low > 0 || d.High < 0 }

// Paired compares two runs question by question: it resamples the differences, so that
// the difficulty of questions cancels out. before and after hold n values each, in the
// same order of questions.
func (d *Draws) Paired(before, after []float64) Difference {
	if len(before) != len(after) {
		panic("metric: runs over different questions")
	}
	delta := make([]float64, len(before))
	same := true
	for i := range before {
		delta[i] = after[i] - before[i]
		same = same && delta[i] == 0
	}
	if same {
		return Difference{P: 1}
	}
	means := d.means(delta)
	slices.Sort(means)
	out := Difference{Mean: Mean(delta), Low: Percentile(means, 2.5), High: Percentile(means, 97.5)}
	below, above := 0, 0
	for _, m := range means {
		if m <= 0 {
			below++
		}
		if m >= 0 {
			above++
		}
	}
	out.P = min(1, 2*float64(min(below, above)+1)/float64(len(means)+1))
	return out
}
