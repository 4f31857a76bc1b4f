package evals

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
)

// reported is a report with one measure's values in each mode.
func reported(measure string, modes map[string][]float64, ids ...string) *Report {
	r := &Report{Dataset: "d", Modes: map[string]Score{}, PerQuery: &PerQuery{IDs: ids, Modes: map[string]map[string]Column{}}}
	for _, name := range sorted(modes) {
		r.Order = append(r.Order, name)
		r.Modes[name] = Score{Values: map[string]float64{"p50_ms": 1, "p99_ms": 2}}
		r.PerQuery.Modes[name] = map[string]Column{measure: modes[name]}
	}
	return r
}

func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("q%03d", i))
	}
	return ids
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func TestCompare(t *testing.T) {
	ids := numbered(50)
	mixed := constant(50, .5)
	mixed[0], mixed[1] = 0, .9
	before := reported("recall@10", map[string][]float64{"keyword": constant(50, .5), "hybrid": constant(50, .5), "gone": constant(50, 1)}, ids...)
	after := reported("recall@10", map[string][]float64{"keyword": constant(50, .4), "hybrid": mixed, "new": constant(50, 1)}, ids...)
	c, err := Compare(before, after, 1)
	if err != nil {
		t.Fatal(err)
	}
	if c.Questions != 50 || len(c.Changes) != 2 || !slices.Equal(c.Unpaired, []string{"gone", "new"}) || !c.Regressions() {
		t.Fatalf("%+v", c)
	}
	h, k := c.Changes[0], c.Changes[1]
	if k.Mode != "keyword" || k.Before != .5 || k.After != .4 || math.Abs(k.Difference+.1) > 1e-6 || !k.Real || !k.Regression || k.P > .01 {
		t.Errorf("keyword %+v", k)
	}
	if h.Mode != "hybrid" || h.Real || h.Regression || h.CI[0] > h.Difference || h.CI[1] < h.Difference {
		t.Errorf("hybrid %+v", h)
	}
	if better, err := Compare(after, before, 1); err != nil || better.Regressions() {
		t.Errorf("turned round: %+v, %v", better, err)
	}
	if l := c.Latency[0]; l.Before != [2]float64{1, 2} {
		t.Errorf("latency %+v", l)
	}
}

// Less silence over questions with an answer is better, and more over the others.
func TestCompareKnowsWhatIsWorse(t *testing.T) {
	for measure, worse := range map[string]bool{"silenced": true, "abstain": false, "mrr": false} {
		c, err := Compare(reported(measure, map[string][]float64{"keyword": constant(30, 0)}, numbered(30)...),
			reported(measure, map[string][]float64{"keyword": constant(30, 1)}, numbered(30)...), 1)
		if err != nil || c.Regressions() != worse {
			t.Errorf("more %s: %+v, %v", measure, c, err)
		}
	}
}

func TestComparePairsByQuestion(t *testing.T) {
	before := reported("mrr", map[string][]float64{"a": {1, 0, .5, math.NaN()}}, "q1", "q2", "q3", "q4")
	after := reported("mrr", map[string][]float64{"b": {.5, 1, 1, 7}}, "q3", "q1", "q4", "q9")
	c, err := Compare(before, after, 1)
	if err != nil {
		t.Fatal(err)
	}
	ch := c.Changes[0]
	// q1 and q3 are in both, unchanged; q4 has no value before.
	if c.Questions != 3 || c.OnlyBefore != 1 || c.OnlyAfter != 1 || ch.Questions != 2 || ch.Difference != 0 || ch.Real || ch.Mode != "a → b" {
		t.Errorf("%+v", c)
	}
}

func TestCompareRefuses(t *testing.T) {
	r := reported("mrr", map[string][]float64{"a": {1}, "c": {1}}, "q1")
	bare := *r
	bare.PerQuery = nil
	for name, other := range map[string]*Report{
		"no values":         &bare,
		"other questions":   reported("mrr", map[string][]float64{"a": {1}, "c": {1}}, "q2"),
		"no mode in common": reported("mrr", map[string][]float64{"x": {1}, "y": {1}}, "q1"),
	} {
		if _, err := Compare(r, other, 1); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
