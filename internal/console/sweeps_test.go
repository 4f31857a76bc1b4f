package console_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/console/consoletest"
	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/seed"
)

// swept makes a report of questions with an answer; each mode finds a part of them.
func swept(dataset string, n int, found map[string]float64) string {
	r := &sweep.Report{Dataset: dataset, N: n, Queries: n, Corpus: 10 * n, Owners: 1, Embedder: "test-1", Seed: 1, Workers: 1, Notes: []string{},
		Modes: map[string]sweep.Score{}, ByCategory: map[string]sweep.Category{"fact": {N: n, Modes: map[string]sweep.Score{}}}, PerQuery: &sweep.PerQuery{Modes: map[string]map[string]sweep.Column{}}}
	for i := range n {
		r.PerQuery.IDs, r.PerQuery.Categories = append(r.PerQuery.IDs, fmt.Sprint("q", i)), append(r.PerQuery.Categories, "fact")
	}
	for mode, part := range found {
		column := make(sweep.Column, n)
		for i := range int(part * float64(n)) {
			column[i] = 1
		}
		r.Order = append(r.Order, mode)
		s := sweep.Score{Values: map[string]float64{"timed": 5, "p50_ms": 2, "p99_ms": 9}, CI: map[string][2]float64{}}
		columns := map[string]sweep.Column{}
		for _, m := range []string{"recall@10", "ndcg@10", "mrr", "block_recall"} {
			columns[m], s.Values[m], s.CI[m] = column, part, [2]float64{max(part-0.1, 0), min(part+0.1, 1)}
		}
		r.PerQuery.Modes[mode], r.Modes[mode], r.ByCategory["fact"].Modes[mode] = columns, s, s
	}
	slices.Sort(r.Order)
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		panic(err)
	}
	return b.String()
}

func keep(c *rig, name, report string, age time.Duration) {
	c.Helper()
	c.write(consoletest.Sweeps+"/"+name+".json", report)
	at := now.Add(-age)
	if err := os.Chtimes(filepath.Join(c.project.Dir, filepath.FromSlash(consoletest.Sweeps), name+".json"), at, at); err != nil {
		c.Fatal(err)
	}
}

// settled asks for a page until nothing of it is being found out.
func settled(t *testing.T, c *rig, path string, who ...access.Principal) (status int, p *page) {
	t.Helper()
	c.eventually("nothing is pending", func() bool {
		status, p = get(t, c, path, who...)
		return !p.has("[data-pending]")
	})
	return status, p
}

func TestSweepsSayWhetherHybridPays(t *testing.T) {
	for name, test := range map[string]struct {
		found map[string]float64
		want  string
	}{
		"more":        {map[string]float64{"keyword": 0.4, "hybrid": 0.8}, "Hybrid pays here"},
		"less":        {map[string]float64{"keyword": 0.8, "hybrid": 0.3}, "Hybrid does harm here"},
		"as much":     {map[string]float64{"keyword": 0.5, "hybrid": 0.5}, "200 questions show no difference between hybrid and words alone"},
		"by one mode": {map[string]float64{"hybrid": 0.5}, "Whether hybrid pays can be said where"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, bare)
			keep(c, "r", swept("set", 200, test.found), time.Hour)
			_, p := settled(t, c, "/console/sweeps", reader)
			p.says(test.want)
		})
	}
	c := open(t, bare)
	keep(c, "words", swept("set", 200, map[string]float64{"keyword": 0.4}), 2*time.Hour)
	keep(c, "both", swept("set", 200, map[string]float64{"hybrid": 0.8}), time.Hour)
	keep(c, "other", swept("another set", 200, map[string]float64{"keyword": 0.4}), 3*time.Hour)
	_, p := settled(t, c, "/console/sweeps")
	p.says("Hybrid pays here", "find 80 % of what is relevant among the first ten, words alone 40 %: +40.0 points", "words → both", "better", "200 questions in both")
	if p.has(`input[value="other"][checked]`) || !p.has(`input[value="words"][checked]`) {
		t.Error("what is compared is not of one data set")
	}
	if charts := len(p.all("main figure")); charts < 2 {
		t.Errorf("%d pictures", charts)
	}
}

func TestSweepsSideBySide(t *testing.T) {
	c := open(t, bare)
	keep(c, "a", swept("set", 20, map[string]float64{"keyword": 0.4, "hybrid": 0.5}), 2*time.Hour)
	keep(c, "b", swept("other", 30, map[string]float64{"keyword": 0.4, "vector": 0.5}), time.Hour)
	_, p := settled(t, c, "/console/sweeps?r=a&r=b&r=gone")
	p.says("These are 2 data sets", "gone: no report is kept under this name", "What differs besides", "a → b", "a: hybrid", "b: vector", "Questions 20 20 30 30")
	_, one := settled(t, c, "/console/sweeps?r=a")
	one.says("hybrid → keyword")
	// More modes than colours, of more reports than fit.
	many := map[string]float64{}
	for i := range 12 {
		many[fmt.Sprint("hybrid floor=", i)] = 0.5
	}
	query := "/console/sweeps?r=a"
	for i := range 8 {
		keep(c, fmt.Sprint("many", i), swept("set", 20, many), time.Duration(i)*time.Minute)
		query += fmt.Sprint("&r=many", i)
	}
	_, p = settled(t, c, query)
	p.says("64 more settings are not shown", "many7: no more than 6 reports can be compared")
}

func TestSweepsThatCannotBeRead(t *testing.T) {
	c := open(t, bare)
	whole := swept("set", 20, map[string]float64{"keyword": 0.4})
	keep(c, "good", whole, time.Hour)
	keep(c, "cut", whole[:len(whole)-len(whole)/4], time.Minute)
	keep(c, "head", whole[:20], time.Minute)
	keep(c, "list", "["+whole+"]", time.Minute)
	keep(c, "empty", "", time.Minute)
	keep(c, "null", "null", time.Minute)
	keep(c, ".hidden", whole, time.Minute)
	c.write(consoletest.Sweeps+"/big.json", "{}")
	if err := os.Truncate(filepath.Join(c.project.Dir, filepath.FromSlash(consoletest.Sweeps), "big.json"), 32<<20+1); err != nil {
		t.Fatal(err)
	}
	_, p := settled(t, c, "/console/sweeps?r=cut&r=good")
	p.says("the report is longer than 32 MB", "several reports in one file", "cut: ", "not a report of ken eval sweep --json")
	if n := len(p.all("main tbody .danger")); n != 5 {
		t.Errorf("%d are said to be broken", n)
	}
	p.hides("hidden.json", ".hidden")
	if len(p.all("main figure")) == 0 {
		t.Error("the good one is not shown")
	}
}

// A report that was written anew is read anew.
func TestSweepsAreReadAgain(t *testing.T) {
	c := open(t, bare)
	keep(c, "r", swept("first set", 20, map[string]float64{"keyword": 0.4}), time.Hour)
	_, p := settled(t, c, "/console/sweeps")
	p.says("first set")
	keep(c, "r", swept("second set", 20, map[string]float64{"keyword": 0.4}), time.Minute)
	_, p = settled(t, c, "/console/sweeps")
	p.says("second set")
	p.hides("first set")
}

func TestSweepsWithHostileNames(t *testing.T) {
	c := open(t, bare)
	evil := `<script>alert(1)</script>` + "\u202e"
	keep(c, "x", strings.ReplaceAll(strings.ReplaceAll(swept("SET", 20, map[string]float64{"keyword": 0.4, "MODE": 0.5}), "SET", `<script>alert(1)</script>\u202e`), "MODE", `<img src=x>`), time.Hour)
	_, p := settled(t, c, "/console/sweeps?r=x&r=..%2F..%2Fconfig&r="+`%3Cscript%3E`)
	if p.has("main script") || p.has("main img") {
		t.Errorf("a name has become an element: %s", p.body)
	}
	p.hides(evil)
	p.says("U+202E", "../../config: no report is kept under this name")
}

func TestNoSweeps(t *testing.T) {
	_, p := get(t, open(t, bare), "/console/sweeps")
	p.says("No report is kept yet.", "ken eval generate", "ken eval sweep --data .ken/eval --keep first")
	status, p := get(t, open(t), "/console/sweeps")
	if status != http.StatusOK || !p.has(`input[value="keyword"][checked]`) || !p.has(`input[value="hybrid"][checked]`) {
		t.Errorf("the furnished sweeps are not there: %d %s", status, p.text())
	}
}

// Whatever is in the folder, the page is one: reports with figures at random.
func TestSweepsOfRandomReports(t *testing.T) {
	c := open(t, bare)
	r := rand.New(rand.NewPCG(seed.Of(t), 1))
	for i := range 6 {
		found := map[string]float64{}
		for range 1 + r.IntN(5) {
			found[[]string{"keyword", "hybrid", "vector", "rrf", "wrrf", "hybrid k=1", ""}[r.IntN(7)]] = r.Float64()
		}
		text := swept("set", 1+r.IntN(40), found)
		if r.IntN(2) == 0 {
			text = strings.ReplaceAll(text, "0.", fmt.Sprint(-r.IntN(9), "."))
		}
		keep(c, fmt.Sprint("r", i), text, time.Duration(i)*time.Minute)
	}
	for range 20 {
		path := "/console/sweeps?"
		for range r.IntN(4) {
			path += fmt.Sprint("r=r", r.IntN(6), "&")
		}
		if status, p := settled(t, c, path); status != http.StatusOK || strings.Contains(p.text(), "NaN") {
			t.Errorf("%s: %d %s", path, status, p.text())
		}
	}
}

// FuzzSweepHead checks that a head has a mode and equals that of the complete report.
func FuzzSweepHead(f *testing.F) {
	f.Add(swept("set", 3, map[string]float64{"keyword": 0.5, "hybrid": 1}))
	f.Add(`{"modes":{"a":{"mrr":1}},"per_query":null}`)
	f.Add(`[{}]`)
	f.Add(`{"modes":`)
	f.Add(`7`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := console.SweepHead(strings.NewReader(text))
		if err != nil {
			return
		}
		if len(r.Modes) == 0 || r.PerQuery != nil {
			t.Errorf("a head of %d modes", len(r.Modes))
		}
		whole, err := sweep.Read(strings.NewReader(text))
		if err == nil && (whole.Dataset != r.Dataset && strings.Count(text, "ataset") < 2) {
			t.Errorf("the head is of %q, the report of %q", r.Dataset, whole.Dataset)
		}
	})
}
