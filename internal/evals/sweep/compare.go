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
	// Questions is the number of questions that both reports have. OnlyBefore and
	// OnlyAfter are the numbers of questions in one report only, which are left out.
	Questions  int       `json:"questions"`
	OnlyBefore int       `json:"only_before"`
	OnlyAfter  int       `json:"only_after"`
	Changes    []Change  `json:"changes"`
	Latency    []Latency `json:"latency"`
	Unpaired   []string  `json:"unpaired"` // modes that only one report has
}

// Change is the difference of one measure in one mode.
type Change struct {
	Mode       string     `json:"mode"`
	Measure    string     `json:"measure"`
	Questions  int        `json:"questions"` // number of questions in the mean
	Before     float64    `json:"before"`
	After      float64    `json:"after"`
	Difference float64    `json:"difference"` // after minus before
	CI         [2]float64 `json:"ci"`         // its 95 % interval, paired
	P          float64    `json:"p"`
	Real       bool       `json:"real"`       // the interval excludes zero
	Regression bool       `json:"regression"` // real, and worse
}

// Latency compares times without a verdict, because two runs may have different
// conditions.
type Latency struct {
	Mode   string     `json:"mode"`
	Before [2]float64 `json:"before"` // p50 and p99 in milliseconds
	After  [2]float64 `json:"after"`
}

// Regressions reports whether any change is a regression.
func (c *Comparison) Regressions() bool {
	return slices.ContainsFunc(c.Changes, func(ch Change) bool { return ch.Regression })
}

// Compare determines which differences between two reports are real, by a paired
// bootstrap over the questions that both have, identified by their ids. Modes are
// paired by name; if each report has a single mode, the two are paired whatever their
// names. It returns ErrInvalid when a report lacks per-query values, or nothing can be
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
	if len(c.Changes) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "per_query", Msg: "no question is judged in both reports, so there is nothing to compare",
			Try: "Say what is relevant to the questions, in qrels or in queries.jsonl."}
	}
	return c, nil
}

// pair holds the names of a mode before and after.
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

// compare compares one measure over the questions that have it in both reports.
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

// run holds one variant's turns, in the order of the questions.
type run struct {
	variant
	results  []turnResult
	judged   []judged
	degraded string
}

// group is a subset of the questions, by index, with the bootstrap draws that all of
// its intervals share.
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

// score summarizes one run over the group.
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

// summarise fills in the report's fields from the runs.
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

// Report is the result of a sweep. Its JSON form is a contract: fields may be added,
// but existing ones don't change; see docs/evals.md.
type Report struct {
	Dataset   string   `json:"dataset"`
	N         int      `json:"n"`         // number of questions
	Queries   int      `json:"queries"`   // of these, with a known answer
	NoAnswer  int      `json:"no_answer"` // of these, known to have none
	Corpus    int      `json:"corpus"`    // number of records written
	Owners    int      `json:"owners"`    // number of stores: one for each conversation
	Refused   int      `json:"refused"`   // number of records that the store rejected
	Embedder  string   `json:"embedder"`  // the model's name; "" for none
	Seed      uint64   `json:"seed"`
	Workers   int      `json:"workers"` // concurrent turns
	ElapsedMS float64  `json:"elapsed_ms"`
	Notes     []string `json:"notes"`
	Order     []string `json:"order"` // the names in Modes, in the order of the run

	Modes      map[string]Score    `json:"modes"`
	ByCategory map[string]Category `json:"by_category"`
	// PerQuery holds the values that Compare needs. It is nil when they were omitted.
	PerQuery *PerQuery `json:"per_query,omitempty"`
	// Faults holds the questions with the worst results, by mode. It contains text of
	// the data set and is not part of the JSON form.
	Faults map[string][]Fault `json:"-"`

	answers []answer
}

// Score is the result of one mode on a set of questions.
type Score struct {
	Settings map[string]string     // the varied settings, by full key
	Values   map[string]float64    // by measure; also p50_ms, p99_ms and block_chars; all others are 0..1
	CI       map[string][2]float64 // 95 % intervals by measure, if the group has questions for the measure
	Degraded string                // why the mode ran degraded; "" if it did not
}

// Category is the result of all modes on one category of questions.
type Category struct {
	N     int
	Modes map[string]Score
}

// PerQuery holds every question's values, in columns.
type PerQuery struct {
	IDs        []string `json:"ids"`
	Categories []string `json:"categories"`
	// Modes holds a column by mode and measure. A value is NaN, null in JSON, if the
	// measure doesn't apply to the question.
	Modes map[string]map[string]Column `json:"modes"`
}

// Column is one value for each question.
type Column []float64
