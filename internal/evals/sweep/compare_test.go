package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
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

// Two reports without a judged question in common say nothing, and no test may pass by that.
func TestNothingToCompareIsAnError(t *testing.T) {
	none := reported("mrr", map[string][]float64{"keyword": constant(3, math.NaN())}, numbered(3)...)
	if _, err := Compare(none, none, 1); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
		t.Errorf("%v", err)
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

// The JSON form is a contract.
func TestReportContract(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Set: lenient})
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Fatalf("not JSON:\n%s", b.String())
	}
	doc := gjson.ParseBytes(b.Bytes())
	if doc.Get("dataset").String() != "small" || doc.Get("n").Int() != 4 {
		t.Errorf("dataset and n: %s, %s", doc.Get("dataset"), doc.Get("n"))
	}
	for _, mode := range []string{"keyword", "vector", "hybrid"} {
		for _, base := range []string{"modes." + mode, "by_category.fact." + mode} {
			for _, name := range []string{"hit@5", "recall@5", "recall@10", "ndcg@10", "mrr", "block_recall", "abstain"} {
				v := doc.Get(base + "." + escape(name))
				if v.Type != gjson.Number || v.Float() < 0 || v.Float() > 1 {
					t.Errorf("%s.%s is %s", base, name, v.Raw)
				}
				ci := doc.Get(base + ".ci." + escape(name)).Array()
				if base == "modes."+mode && (len(ci) != 2 || ci[0].Float() > v.Float() || ci[1].Float() < v.Float()) {
					t.Errorf("%s.ci.%s is %v around %s", base, name, ci, v.Raw)
				}
			}
			for _, name := range []string{"p50_ms", "p99_ms"} {
				if v := doc.Get(base + "." + name); v.Type != gjson.Number || v.Float() <= 0 {
					t.Errorf("%s.%s is %s", base, name, v.Raw)
				}
			}
		}
	}
	if doc.Get("by_category.fact.n").Int() != 2 {
		t.Errorf("by_category.fact.n is %s", doc.Get("by_category.fact.n"))
	}
	if got := doc.Get("per_query.modes.keyword." + escape("recall@10")).Raw; got != "[1,1,1,null]" {
		t.Errorf("recall of each question: %s", got)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 600 {
		t.Errorf("%d lines for four questions", lines)
	}
}

// escape makes a key of a path: @ begins a modifier there.
func escape(name string) string { return strings.ReplaceAll(name, "@", `\@`) }

func TestReportRoundTrip(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Vary: []Axis{{"rrf_k", []string{"20"}}}})
	var b, again bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Write(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, again.String()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(r.PerQuery, got.PerQuery, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "another file": `{"a": 1}`, "a list": `[]`, "half a report": `{"modes": {"keyword": {`,
		"columns of another length": `{"modes": {"keyword": {}}, "per_query": {"ids": ["a"], "modes": {"keyword": {"mrr": [1, 2]}}}}`,
		"text in a column":          `{"modes": {"keyword": {}}, "per_query": {"ids": ["a"], "modes": {"keyword": {"mrr": ["1"]}}}}`,
	} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"modes": {"keyword": {"mrr": 0.5, "ci": {"mrr": [0, 1]}}}, "by_category": {"x": {"n": 1, "keyword": {}}}, "per_query": {"ids": ["a"], "modes": {"keyword": {"mrr": [null]}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ken.ErrInvalid) {
				t.Errorf("%v", err)
			}
			return
		}
		_, _ = Compare(r, r, 1) // must not panic, whatever the columns
	})
}

func TestWriteAnswers(t *testing.T) {
	r := sweepOf(t, Options{Data: small(t, dataset.Options{}), Modes: []Mode{ModeKeyword}, Set: lenient})
	var b bytes.Buffer
	if err := r.WriteAnswers(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines", len(lines))
	}
	doc := gjson.Parse(lines[0])
	if doc.Get("_id").String() != "q1" || doc.Get("ranked.0").String() != "a1" || doc.Get("block.0").String() != "a1" || doc.Get("relevant.0").String() != "a1" ||
		doc.Get("values.mrr").Float() != 1 || doc.Get("ms").Float() <= 0 {
		t.Errorf("%s", lines[0])
	}
}

func TestColumn(t *testing.T) {
	b, err := json.Marshal(Column{1, math.NaN(), 1.0 / 3})
	if err != nil || string(b) != "[1,null,0.333333]" {
		t.Errorf("%s, %v", b, err)
	}
}
