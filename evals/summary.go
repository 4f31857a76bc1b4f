package evals

import (
	"math"

	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
)

// run is one variant's turns, in the order of the questions.
type run struct {
	variant
	heard    []heard
	judged   []judged
	degraded string
}

// group is some of the questions, by their place, with the draws that all of its
// intervals share.
type group struct {
	answerable, none, all []int
	drawsA, drawsN        *metric.Draws
}

func newGroup(queries []dataset.Query, seed uint64, in func(*dataset.Query) bool) *group {
	g := &group{}
	for i := range queries {
		q := &queries[i]
		if !in(q) {
			continue
		}
		g.all = append(g.all, i)
		switch {
		case q.Answerable():
			g.answerable = append(g.answerable, i)
		case q.NoAnswer():
			g.none = append(g.none, i)
		}
	}
	g.drawsA, g.drawsN = metric.NewDraws(len(g.answerable), seed), metric.NewDraws(len(g.none), seed)
	return g
}

// score sums up one run over the group.
func (g *group) score(r *run) Score {
	s := Score{Values: map[string]float64{"queries": float64(len(g.answerable)), "no_answer": float64(len(g.none))}, CI: map[string][2]float64{},
		Degraded: r.degraded}
	for _, set := range r.settings {
		if s.Settings == nil {
			s.Settings = map[string]string{}
		}
		s.Settings[set.Key] = set.Value
	}
	for _, m := range measures {
		at, draws := g.none, g.drawsN
		if m.Answerable {
			at, draws = g.answerable, g.drawsA
		}
		values := make([]float64, len(at))
		for i, q := range at {
			values[i] = m.of(&r.judged[q])
		}
		s.Values[m.Name] = metric.Mean(values)
		if len(at) > 0 {
			low, high := draws.Interval(values)
			s.CI[m.Name] = [2]float64{low, high}
		}
	}
	var ms, chars []float64
	for _, q := range g.all {
		if r.heard[q].ms > 0 {
			ms = append(ms, r.heard[q].ms)
		}
		chars = append(chars, float64(r.heard[q].chars))
	}
	s.Values["timed"] = float64(len(ms))
	s.Values["p50_ms"], s.Values["p99_ms"] = metric.Percentile(ms, 50), metric.Percentile(ms, 99)
	s.Values["block_chars"] = metric.Mean(chars)
	return s
}

// summarise fills in what the report says of the runs.
func (r *Report) summarise(queries []dataset.Query, runs []run) {
	every := newGroup(queries, r.Seed, func(*dataset.Query) bool { return true })
	r.N, r.Queries, r.NoAnswer = len(queries), len(every.answerable), len(every.none)
	r.Modes, r.ByCategory = map[string]Score{}, map[string]Category{}
	for i := range runs {
		r.Order = append(r.Order, runs[i].name)
		r.Modes[runs[i].name] = every.score(&runs[i])
	}
	for _, name := range categories(queries) {
		g := newGroup(queries, r.Seed, func(q *dataset.Query) bool { return q.Category == name })
		c := Category{N: len(g.all), Modes: map[string]Score{}}
		for i := range runs {
			c.Modes[runs[i].name] = g.score(&runs[i])
		}
		r.ByCategory[name] = c
	}
	r.PerQuery = perQuery(queries, runs)
}

func categories(queries []dataset.Query) []string {
	seen := map[string]bool{}
	for i := range queries {
		if c := queries[i].Category; c != "" {
			seen[c] = true
		}
	}
	return sorted(seen)
}

func perQuery(queries []dataset.Query, runs []run) *PerQuery {
	p := &PerQuery{IDs: make([]string, len(queries)), Categories: make([]string, len(queries)), Modes: map[string]map[string]Column{}}
	for i := range queries {
		p.IDs[i], p.Categories[i] = queries[i].ID, queries[i].Category
	}
	for i := range runs {
		columns := map[string]Column{}
		for _, m := range measures {
			c := make(Column, len(queries))
			for q := range queries {
				c[q] = math.NaN()
				if m.Answerable && queries[q].Answerable() || !m.Answerable && queries[q].NoAnswer() {
					c[q] = m.of(&runs[i].judged[q])
				}
			}
			columns[m.Name] = c
		}
		p.Modes[runs[i].name] = columns
	}
	return p
}
