package report

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/evals/sweep"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run go test ./internal/evals/report -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

// score is a mode's figures around one recall.
func score(recall, abstain, silenced, p50, p99 float64) sweep.Score {
	s := sweep.Score{Values: map[string]float64{"p50_ms": p50, "p99_ms": p99}, CI: map[string][2]float64{}}
	for _, m := range sweep.Measures() {
		s.Values[m.Name] = recall
		s.CI[m.Name] = [2]float64{max(0, recall-.05), min(1, recall+.05)}
	}
	s.Values["abstain"], s.Values["silenced"] = abstain, silenced
	return s
}

// hostile is text that would break out of a page that doesn't escape it.
const hostile = `<script src="http://x/"></script>"><img onerror='a()' & %s`

func example() *sweep.Report {
	r := &sweep.Report{Dataset: "notes " + hostile, N: 12, Queries: 10, NoAnswer: 2, Corpus: 40, Owners: 1, Embedder: "bag", Seed: 1,
		Order: []string{"keyword", "hybrid"}, Notes: []string{hostile},
		Modes: map[string]sweep.Score{"keyword": score(.5, .75, .1, 1.5, 12), "hybrid": score(.62, .5, .02, 2.5, 30)},
		ByCategory: map[string]sweep.Category{
			"10":    {N: 4, Modes: map[string]sweep.Score{"keyword": score(.4, 0, 0, 1, 2), "hybrid": score(.5, 0, 0, 1, 2)}},
			"2":     {N: 6, Modes: map[string]sweep.Score{"keyword": score(.6, 0, 0, 1, 2), "hybrid": score(.7, 0, 0, 1, 2)}},
			hostile: {N: 2, Modes: map[string]sweep.Score{"keyword": {}, "hybrid": {}}},
		},
		Faults: map[string][]sweep.Fault{"keyword": {
			{ID: "q1", Text: hostile, Category: hostile, Wanted: []sweep.Passage{{ID: hostile, Text: hostile, Good: true}},
				Found: []sweep.Passage{{ID: "b", Text: "found", Rank: 1}, {ID: "a", Text: "wanted", Rank: 2, Good: true}}},
			{ID: "q2", Text: "nothing answers", Found: []sweep.Passage{{ID: "b", Text: "found", Rank: 1}}},
		}}}
	return r
}

func page1(t *testing.T, reports ...*sweep.Report) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, reports...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPage(t *testing.T) { golden(t, "page.html", page1(t, example())) }

// The page makes no requests, and text of the data is escaped.
func TestPageIsSelfContained(t *testing.T) {
	p := page1(t, example())
	visible := strings.ReplaceAll(p, "&lt;script src=&#34;http://x/&#34;&gt;", "")
	for _, bad := range []string{"<script", "<img", "http:", "https:", "src=", "url(", "@import", "onerror='", "%!"} {
		if strings.Contains(visible, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if strings.Count(p, "&lt;script") < 6 {
		t.Errorf("the hostile text is shown %d times", strings.Count(p, "&lt;script"))
	}
	if !strings.Contains(p, "prefers-color-scheme:dark") {
		t.Error("no dark colours")
	}
}

// Every drawing is well formed, and nothing is drawn outside of it.
func TestDrawings(t *testing.T) {
	r := example()
	svgs := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page1(t, r, grid()), -1)
	if len(svgs) < 12 {
		t.Fatalf("%d drawings", len(svgs))
	}
	number := regexp.MustCompile(`(?:x|x1|x2|cx)="(-?[0-9.]+|NaN|[+-]Inf)"`)
	for _, svg := range svgs {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v:\n%s", err, svg)
			}
		}
		var width float64
		if _, err := fmt.Sscanf(svg, `<svg viewBox="0 0 %f`, &width); err != nil {
			t.Fatal(err)
		}
		for _, m := range number.FindAllStringSubmatch(svg, -1) {
			var x float64
			if _, err := fmt.Sscan(m[1], &x); err != nil || x < 0 || x > width {
				t.Errorf("%s is outside of 0 to %v:\n%s", m[0], width, svg)
			}
		}
	}
}

// grid is a report with one key varied, in more variants than there are colours.
func grid() *sweep.Report {
	r := &sweep.Report{Dataset: "grid", N: 5, Queries: 5, Modes: map[string]sweep.Score{}, ByCategory: map[string]sweep.Category{}}
	c := sweep.Category{N: 5, Modes: map[string]sweep.Score{}}
	for i, mode := range []string{"keyword", "hybrid"} {
		for j, v := range []string{"0.1", "0.2", "0.3", "0.4"} {
			name := mode + " floor=" + v
			s := score(.4+.1*float64(i)+.05*float64(j%3), 0, 0, 0, 0)
			s.Settings = map[string]string{"retrieval.floor": v}
			r.Order = append(r.Order, name)
			r.Modes[name], c.Modes[name] = s, s
		}
	}
	r.ByCategory["fact"] = c
	return r
}

func TestGrid(t *testing.T) {
	p := page1(t, grid())
	for _, want := range []string{"Along retrieval.floor", "the setting with the highest recall@10: keyword floor=0.3, hybrid floor=0.3."} {
		if !strings.Contains(p, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	two := grid()
	for name, s := range two.Modes {
		s.Settings = map[string]string{"retrieval.floor": "0.1", "retrieval.rrf_k": "20"}
		two.Modes[name] = s
	}
	if key, _, _ := alongOneKey(two); key != "" {
		t.Errorf("two keys were varied, and %s is drawn", key)
	}
	if strings.Contains(page1(t, two), "Silence:") {
		t.Error("silence is drawn without questions that have no answer")
	}
}

// A set without judgements yields a page too.
func TestPageOfNothing(t *testing.T) {
	r := &sweep.Report{Dataset: "empty", Order: []string{"keyword"}, Modes: map[string]sweep.Score{"keyword": {}}}
	p := page1(t, r)
	if !strings.Contains(p, "<td>–</td>") || strings.Contains(p, "NaN") || strings.Contains(p, "How much is found") {
		t.Error(p)
	}
}

func TestTable(t *testing.T) {
	r := example()
	r.Dataset = "notes"
	bare := &sweep.Report{Dataset: "unjudged", Order: []string{"keyword"}, Modes: map[string]sweep.Score{"keyword": {Values: map[string]float64{"p50_ms": 1, "p99_ms": 2}}}}
	full := &sweep.Report{Dataset: "full", Order: []string{"keyword"}, Modes: map[string]sweep.Score{"keyword": score(1, 1, 0, 100, 2000)}}
	golden(t, "table.txt", Table(r, bare, full))
}

func TestChanges(t *testing.T) {
	golden(t, "changes.txt", Changes(&sweep.Comparison{Before: "notes", After: "wiki", Questions: 40, OnlyBefore: 1, OnlyAfter: 2, Unpaired: []string{"rrf"},
		Changes: []sweep.Change{
			{Mode: "keyword", Measure: "recall@10", Before: .5, After: .45, Difference: -.05, CI: [2]float64{-.08, -.02}, P: .002, Real: true, Regression: true},
			{Mode: "keyword", Measure: "silenced", Before: .1, After: 0, Difference: -.1, CI: [2]float64{-.12, -.05}, P: .002, Real: true},
			{Mode: "hybrid → tuned", Measure: "mrr", Before: .3, After: 1, Difference: .001, CI: [2]float64{-.01, .012}, P: .9},
		},
		Latency: []sweep.Latency{{Mode: "keyword", Before: [2]float64{1, 10}, After: [2]float64{2, 8}}}}))
}

func ExampleTable() {
	fmt.Print(Table(&sweep.Report{Dataset: "notes", Order: []string{"keyword"}, Modes: map[string]sweep.Score{"keyword": {
		Values: map[string]float64{"hit@1": .5, "recall@10": .75, "p50_ms": 1.2, "p99_ms": 8},
		CI:     map[string][2]float64{"hit@1": {.4, .6}, "recall@10": {.7, .8}}}}}))
	// Output:
	// set    mode     hit@1  hit@5  r@5  r@10       95 %  r@20  ndcg@10  mrr  block  abstain  silenced  p50 ms  p99 ms
	// notes  keyword   .500      –    –  .750  .700-.800     –        –    –      –        –         –     1.2     8.0
}
