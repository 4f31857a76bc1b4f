package ledger

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kenlayer/ken"
)

// Bucket summarises the turns of a period. Percentiles use the nearest rank: the
// smallest value that at least that share of the values does not exceed; 0 without
// turns.
type Bucket struct {
	From, To    time.Time // To is exclusive, except in the last bucket
	Turns       int
	Modes       map[ken.Mode]int // turns by mode
	P50         float64          // of the whole turn, in milliseconds, like the next two
	P95         float64
	P99         float64
	Stages      []Stage // the medians, by name
	Chars       int     // median code points of the block
	CachedBytes int64   // the sum
	NewBytes    int64   // the sum
}

// Share returns the share of the turns that ran in a mode, 0..1; 0 without turns.
func (b *Bucket) Share(m ken.Mode) float64 {
	if b.Turns == 0 {
		return 0
	}
	return float64(b.Modes[m]) / float64(b.Turns)
}

// Series divides a period into buckets of the same length and summarises the turns
// of each, oldest first. It returns nil unless from is before to and buckets is at
// least 1. A bucket is at least a nanosecond long.
func (l *Ledger) Series(owner string, from, to time.Time, buckets int) []Bucket {
	span := to.Sub(from)
	if span <= 0 || buckets <= 0 {
		return nil
	}
	buckets = int(min(int64(buckets), int64(span)))
	width := span / time.Duration(buckets)
	gathered := make([]gathering, buckets)
	for _, t := range l.turns(owner) {
		if t.At.Before(from) || t.At.After(to) {
			continue
		}
		// The remainder of the division belongs to the last bucket.
		gathered[min(int(t.At.Sub(from)/width), buckets-1)].add(t)
	}
	out := make([]Bucket, buckets)
	for i := range out {
		out[i] = gathered[i].bucket()
		out[i].From, out[i].To = from.Add(time.Duration(i)*width), from.Add(time.Duration(i+1)*width)
	}
	out[buckets-1].To = to
	return out
}

// gathering collects the values of a bucket.
type gathering struct {
	Bucket
	total, chars []float64
	stages       map[string][]float64
}

func (g *gathering) add(t *Turn) {
	if g.Modes == nil {
		g.Modes, g.stages = map[ken.Mode]int{}, map[string][]float64{}
	}
	g.Turns++
	g.Modes[t.Mode]++
	g.total, g.chars = append(g.total, t.TotalMS), append(g.chars, float64(t.Chars))
	for _, s := range t.Stages {
		g.stages[s.Name] = append(g.stages[s.Name], s.MS)
	}
	g.CachedBytes += t.CachedBytes
	g.NewBytes += t.NewBytes
}

func (g *gathering) bucket() Bucket {
	slices.Sort(g.total)
	slices.Sort(g.chars)
	g.P50, g.P95, g.P99 = rank(g.total, 50), rank(g.total, 95), rank(g.total, 99)
	g.Chars = int(rank(g.chars, 50))
	for _, name := range slices.Sorted(maps.Keys(g.stages)) {
		ms := g.stages[name]
		slices.Sort(ms)
		g.Stages = append(g.Stages, Stage{name, rank(ms, 50)})
	}
	return g.Bucket
}

// rank returns the percentile of sorted values by nearest rank.
func rank(sorted []float64, percent float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(percent/100*float64(len(sorted))))-1, 0)]
}
