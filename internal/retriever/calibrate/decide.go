package calibrate

import (
	"math"
	"slices"
)

// factors are measured, by rising size. The first, 0, leaves the vector source out;
// neutral is the index of 1.
var factors = []float64{0, 0.35, 0.7, 1, 1.4, 2}

const (
	neutral   = 3
	maxFactor = 2
)

// How the factor is chosen. The questions are made of the records' own words, and
// what they say of mixing words and likeness is not what people's questions say: on
// the development sets they would raise the factor where it should be lowered
// (LoCoMo). But they tell good embedders from bad ones, by what vectors find beside
// words in mean reciprocal rank and by what mixing them in does. On conversations,
// chats, functions and a repository, the built-in embedder finds 0.34 to 0.82 of what
// words find and changes the mix by -0.02 to 0.05; a coarse one finds 0.05 to 0.36
// and changes it by -0.10 to -0.01. So the factor only falls, and only for what is
// beyond doubt.
//
// That holds for tables, whose likeness is one of words. A sentence encoder looks past
// the words that these questions are made of: all-MiniLM-L6-v2 finds 0.28 to 0.77 of
// what words find, changes the mix by -0.04 to 0.01, and yet adds 0.06 to the recall of
// people's questions where it changes it by -0.04 (BEAM). So an encoder is only left
// out where it finds next to nothing.
const (
	useless = 0.25  // of what words find: below it, words alone do better
	harmful = -0.03 // of the mix: from here on too
	weak    = 0.42  // of what words find: below it, or with any harm, a little likeness does
	lowered = 0.35  // the factor of a weak source
	chance  = 0.1   // of what words find: an encoder below it is broken, or of another language
)

// doubt is the quantile of the normal distribution for one-sided 97.5 %.
const doubt = 1.96

// decide fills in what follows from the questions. table says that the embedder is a
// table of words, not a sentence encoder.
func (c *Calibration) decide(out []outcome, table bool) {
	c.Questions = len(out)
	for i, f := range factors {
		c.Tried = append(c.Tried, Tried{f, figures(out, func(o *outcome) int { return o.ranks[i] })})
	}
	c.Keyword = c.Tried[0].Figures
	c.Vector = figures(out, func(o *outcome) int { return o.vector })
	c.Gain = difference(out, func(o *outcome) float64 { return reciprocal(o.ranks[neutral]) - reciprocal(o.ranks[0]) })
	below := func(share float64) bool {
		return difference(out, func(o *outcome) float64 { return reciprocal(o.vector) - share*reciprocal(o.ranks[0]) }).High < 0
	}
	c.Factor = 1
	harms := c.Gain.High < 0
	switch {
	case below(chance), table && (below(useless) || harms && c.Gain.Mean < harmful):
		c.Factor = 0
	case table && (below(weak) || harms):
		c.Factor = lowered
	}
	for _, t := range c.Tried {
		if t.Factor == c.Factor {
			c.Hybrid = t.Figures
		}
	}
}

func reciprocal(rank int) float64 {
	if rank == 0 {
		return 0
	}
	return 1 / float64(rank)
}

func figures(out []outcome, rank func(*outcome) int) (f Figures) {
	for i := range out {
		r := rank(&out[i])
		f.MRR += reciprocal(r)
		if r > 0 && r <= 10 {
			f.RecallAt10++
		}
	}
	n := math.Max(1, float64(len(out)))
	return Figures{f.RecallAt10 / n, f.MRR / n}
}

// fewest is how many questions an interval needs: below it, nothing is beyond
// doubt.
const fewest = 30

// difference is the mean of a paired difference, with its interval.
func difference(out []outcome, of func(*outcome) float64) Interval {
	n, sum, squares := float64(len(out)), 0.0, 0.0
	for i := range out {
		d := of(&out[i])
		sum += d
		squares += d * d
	}
	mean := sum / math.Max(1, n)
	if n < fewest {
		return Interval{mean, -1, 1}
	}
	half := doubt * math.Sqrt(math.Max(0, squares/n-mean*mean)/(n-1))
	return Interval{mean, mean - half, mean + half}
}

// What the cosines of an embedder say of it. The median over the questions of the
// most like record's cosine is 0.39 to 0.61 for the built-in embedder, depending on
// the collection: within that band nothing is known about the embedder, and
// beyond it only the excess is the embedder's.
const (
	builtinMedian = 0.5
	band          = 1.3
	builtinUsual  = 0.45 // what retriever.Options.Usual is by default
	leastUsual    = 0.05
)

// usual is what retriever.Options.Usual should be; 0 for the default.
func usual(all []searched) float64 {
	var cosines []float64
	for i := range all {
		if all[i].cosine > 0 {
			cosines = append(cosines, all[i].cosine)
		}
	}
	if len(cosines) < fewest {
		return 0
	}
	slices.Sort(cosines)
	switch part := cosines[len(cosines)/2] / builtinMedian; {
	case part > band:
		return builtinUsual * part / band
	case part < 1/band:
		return math.Max(leastUsual, builtinUsual*part*band)
	}
	return 0
}
