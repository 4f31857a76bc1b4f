package sweep

import (
	"fmt"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/evals/metric"
)

// Comparison is the difference between two reports.
type Comparison struct {
	Before string `json:"before"` // the data sets' names
	After  string `json:"after"`
	// Questions counts the questions that both reports have. OnlyBefore and OnlyAfter count
	// those that one of them has alone, which are left out.
	Questions  int       `json:"questions"`
	OnlyBefore int       `json:"only_before"`
	OnlyAfter  int       `json:"only_after"`
	Changes    []Change  `json:"changes"`
	Latency    []Latency `json:"latency"`
	Unpaired   []string  `json:"unpaired"` // modes that only one report has
}

// Change is one measure in one mode.
type Change struct {
	Mode       string     `json:"mode"`
	Measure    string     `json:"measure"`
	Questions  int        `json:"questions"` // that it is a mean of
	Before     float64    `json:"before"`
	After      float64    `json:"after"`
	Difference float64    `json:"difference"` // after minus before
	CI         [2]float64 `json:"ci"`         // its 95 % interval, paired
	P          float64    `json:"p"`
	Real       bool       `json:"real"`       // the interval leaves zero out
	Regression bool       `json:"regression"` // real, and for the worse
}

// Latency is set side by side and never judged: two runs share no clock.
type Latency struct {
	Mode   string     `json:"mode"`
	Before [2]float64 `json:"before"` // p50 and p99 in milliseconds
	After  [2]float64 `json:"after"`
}

// Regressions reports whether anything became worse for real.
func (c *Comparison) Regressions() bool {
	return slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Regression })
}

// Compare says which differences between two reports are real, by a paired
// bootstrap over the questions that both have, known by their ids. Modes are
// paired by name; when each report has a single mode, these are paired whatever
// their names. ErrInvalid when a report lacks per-query values, or nothing can be
// paired.
func Compare(before, after *Report, seed uint64) (*Comparison, error) {
	for _, r := range []*Report{before, after} {
		if r.PerQuery == nil {
			return nil, &ken.Error{Code: ken.CodeInvalid, Field: "per_query", Msg: "a report without the values of each question",
				Try: "Write both reports with ken eval sweep --json."}
		}
	}
	pairs, unpaired := pairModes(before, after)
	at, then := map[string]int{}, []int{}
	for i, id := range after.PerQuery.IDs {
		at[id] = i
	}
	var now []int
	for i, id := range before.PerQuery.IDs {
		if j, ok := at[id]; ok {
			then, now = append(then, i), append(now, j)
		}
	}
	c := &Comparison{Before: before.Dataset, After: after.Dataset, Questions: len(then), OnlyBefore: len(before.PerQuery.IDs) - len(then),
		OnlyAfter: len(after.PerQuery.IDs) - len(then), Changes: []Change{}, Latency: []Latency{}, Unpaired: unpaired}
	if len(pairs) == 0 || len(then) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "per_query", Msg: fmt.Sprintf("nothing to pair: %d modes and %d questions are in both reports", len(pairs), len(then)),
			Try: "Sweep the same data set twice, with a mode in common."}
	}
	for _, pair := range pairs {
		for _, m := range measures {
			if ch, ok := compare(&m, before.PerQuery.Modes[pair[0]][m.Name], after.PerQuery.Modes[pair[1]][m.Name], then, now, seed); ok {
				ch.Mode = pair.name()
				c.Changes = append(c.Changes, ch)
			}
		}
		a, b := before.Modes[pair[0]], after.Modes[pair[1]]
		c.Latency = append(c.Latency, Latency{pair.name(), [2]float64{a.Values["p50_ms"], a.Values["p99_ms"]}, [2]float64{b.Values["p50_ms"], b.Values["p99_ms"]}})
	}
	return c, nil
}

// pair is the names of a mode before and after.
type pair [2]string

func (p pair) name() string {
	if p[0] == p[1] {
		return p[0]
	}
	return p[0] + " → " + p[1]
}

func pairModes(before, after *Report) (pairs []pair, alone []string) {
	alone = []string{}
	a, b := sorted(before.PerQuery.Modes), sorted(after.PerQuery.Modes)
	if len(a) == 1 && len(b) == 1 {
		return []pair{{a[0], b[0]}}, alone
	}
	for _, name := range before.Order {
		switch {
		case !slices.Contains(a, name):
		case slices.Contains(b, name):
			pairs = append(pairs, pair{name, name})
		default:
			alone = append(alone, name)
		}
	}
	for _, name := range b {
		if !slices.Contains(a, name) {
			alone = append(alone, name)
		}
	}
	return pairs, alone
}

// compare pairs one measure over the questions that have it in both reports.
func compare(m *Measure, before, after Column, then, now []int, seed uint64) (ch Change, ok bool) {
	var x, y []float64
	for i := range then {
		if then[i] >= len(before) || now[i] >= len(after) {
			continue
		}
		if a, b := before[then[i]], after[now[i]]; !math.IsNaN(a) && !math.IsNaN(b) {
			x, y = append(x, a), append(y, b)
		}
	}
	if len(x) == 0 {
		return ch, false
	}
	d := metric.NewDraws(len(x), seed).Paired(x, y)
	ch = Change{Measure: m.Name, Questions: len(x), Before: round(metric.Mean(x), 6), After: round(metric.Mean(y), 6), Difference: round(d.Mean, 6),
		CI: [2]float64{round(d.Low, 6), round(d.High, 6)}, P: round(d.P, 6), Real: d.Real()}
	ch.Regression = ch.Real && (d.Mean < 0) != m.Less
	return ch, true
}

// run is one variant's turns, in the order of the questions.
type run struct {
	variant
	results  []turnResult
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
		if r.results[q].ms > 0 {
			ms = append(ms, r.results[q].ms)
		}
		chars = append(chars, float64(r.results[q].chars))
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

// Report is the result of a sweep. Its JSON form is a contract: fields are added, and
// none of them changes; see docs/evals.md.
type Report struct {
	Dataset   string   `json:"dataset"`
	N         int      `json:"n"`         // questions asked
	Queries   int      `json:"queries"`   // of these, with a known answer
	NoAnswer  int      `json:"no_answer"` // of these, known to have none
	Corpus    int      `json:"corpus"`    // records remembered
	Owners    int      `json:"owners"`    // stores that they are in: one for each conversation
	Refused   int      `json:"refused"`   // records that the store doesn't take
	Embedder  string   `json:"embedder"`  // the model's name; "" for none
	Seed      uint64   `json:"seed"`
	Workers   int      `json:"workers"` // turns at once
	ElapsedMS float64  `json:"elapsed_ms"`
	Notes     []string `json:"notes"`
	Order     []string `json:"order"` // the names in Modes, in the order of the run

	Modes      map[string]Score    `json:"modes"`
	ByCategory map[string]Category `json:"by_category"`
	// PerQuery has the figures that Compare needs. Nil when they were left out.
	PerQuery *PerQuery `json:"per_query,omitempty"`
	// Faults are the questions that went worst, by mode. They hold text of the data
	// set and are not part of the JSON form.
	Faults map[string][]Fault `json:"-"`

	answers []answer
}

// Score is the result of one mode on some questions.
type Score struct {
	Settings map[string]string     // what was varied, by full key
	Values   map[string]float64    // by measure, and p50_ms, p99_ms and block_chars; 0..1 except these
	CI       map[string][2]float64 // 95 % intervals by measure, where there are questions of its kind
	Degraded string                // why the mode ran with less than it needs; "" for no reason
}

// Category is the result of the modes on one kind of question.
type Category struct {
	N     int
	Modes map[string]Score
}

// PerQuery has every question's own values, in columns.
type PerQuery struct {
	IDs        []string `json:"ids"`
	Categories []string `json:"categories"`
	// Modes has a column by mode and measure; NaN, null in JSON, where the measure
	// isn't of this kind of question.
	Modes map[string]map[string]Column `json:"modes"`
}

// Column is one value for each question.
type Column []float64
