package evals

import (
	"fmt"
	"math"
	"slices"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/metric"
)

// Comparison is what changed between two reports.
type Comparison struct {
	Before string `json:"before"` // the data sets' names
	After  string `json:"after"`
	// Questions is how many both reports have; OnlyBefore and OnlyAfter count those
	// that one of them has alone, which are left out.
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
