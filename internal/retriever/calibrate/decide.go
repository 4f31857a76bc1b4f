package calibrate

import (
	"math"
	"slices"
)

// factors lists the measured factors in rising order. The first, 0, leaves the vector source out.
// neutral is the index of 1.
var factors = []float64{0, 0.35, 0.7, 1, 1.4, 2}

const (
	neutral   = 3
	maxFactor = 2
)

// Thresholds for choosing the factor. The questions consist of the records' own words, so they
// can't show how to weigh words and vectors for people's questions: on the development sets they
// would raise the factor where it should be lowered (LoCoMo). But they distinguish good embedders
// from bad ones, by the mean reciprocal rank of vector search relative to keyword search, and by
// how adding vectors changes it. On conversations, chats, functions and a repository, the built-in
// embedder reaches 0.34 to 0.82 of keyword search and changes the combination by -0.02 to 0.05. A
// coarse embedder reaches 0.05 to 0.36 and changes it by -0.10 to -0.01. So the factor is only
// lowered, and only if that is statistically certain.
//
// This applies to tables, whose vectors represent words. A sentence encoder does not depend on the
// words that these questions consist of. all-MiniLM-L6-v2 reaches 0.28 to 0.77 of keyword search
// and changes the combination by -0.04 to 0.01, yet it adds 0.06 to the recall of people's
// questions where it changes the combination by -0.04 (BEAM). So an encoder is left out only if it
// finds almost nothing.
const (
	useless = 0.25  // part of keyword search's result; below it, the vector source is left out
	harmful = -0.03 // change of the combination; below it, the vector source is left out
	weak    = 0.42  // part of keyword search's result; below it, or if the combination is worse, the factor is lowered
	lowered = 0.35  // the lowered factor
	chance  = 0.1   // part of keyword search's result; an encoder below it is broken, or for another language
)

// normalQuantile is the quantile of the normal distribution for a one-sided 97.5 % interval.
const normalQuantile = 1.96

// decide sets the fields that follow from the questions. table reports whether the embedder is a
// table of words, as opposed to a sentence encoder.
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

// minQuestions is the minimum number of questions for an interval. With fewer, nothing is certain.
const minQuestions = 30

// difference returns the mean of a paired difference, with its interval.
func difference(out []outcome, of func(*outcome) float64) Interval {
	n, sum, squares := float64(len(out)), 0.0, 0.0
	for i := range out {
		d := of(&out[i])
		sum += d
		squares += d * d
	}
	mean := sum / math.Max(1, n)
	if n < minQuestions {
		return Interval{mean, -1, 1}
	}
	half := normalQuantile * math.Sqrt(math.Max(0, squares/n-mean*mean)/(n-1))
	return Interval{mean, mean - half, mean + half}
}

// Bounds for the cosines of an embedder. For the built-in embedder, the median over the questions
// of the best record's cosine is 0.39 to 0.61, depending on the collection. Within that range
// nothing can be concluded about an embedder. Outside, only the part beyond the range is attributed
// to it.
const (
	builtinMedian = 0.5
	band          = 1.3
	builtinUsual  = 0.45 // the default of retriever.Options.Usual
	leastUsual    = 0.05
)

// usual returns the value for retriever.Options.Usual; 0 means the default.
func usual(all []searched) float64 {
	var cosines []float64
	for i := range all {
		if all[i].cosine > 0 {
			cosines = append(cosines, all[i].cosine)
		}
	}
	if len(cosines) < minQuestions {
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
