package chart

import (
	"flag"
	"fmt"
	"html/template"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// lines puts line ends where elements end, so that versions can be compared.
var lines = strings.NewReplacer("</text>", "</text>\n", "</g>", "</g>\n", "</a>", "</a>\n", "</svg>", "</svg>\n", "</li>", "</li>\n", "</tr>", "</tr>\n", "</figure>", "</figure>\n", "<rect", "\n<rect", "<line", "\n<line")

func TestChartsAreAsTheyWere(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			path := filepath.Join("testdata", s.name+".html")
			got := lines.Replace(string(s.picture) + "\n" + string(s.table) + "\n")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; run go test ./internal/console/chart -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s has changed; run go test ./internal/console/chart -update:\n%s", path, diff)
			}
		})
	}
}

func TestTheSameDataGivesTheSameBytes(t *testing.T) {
	want := samples()
	for range 3 {
		if diff := cmp.Diff(want, samples(), cmp.AllowUnexported(sample{})); diff != "" {
			t.Fatal(diff)
		}
	}
}

// sample is a chart with its data as a table.
type sample struct {
	name    string
	picture template.HTML
	table   template.HTML
}

var noon = time.Date(2031, 3, 8, 12, 0, 0, 0, time.UTC)

// samples are charts as the console has them.
func samples() []sample {
	kinds := BarsData{Title: "Claims by kind", Bars: []Bar{
		{Label: "decision", Value: 1830, Href: "/console/store?kind=decision"}, {Label: "convention", Value: 1204, Href: "/console/store?kind=convention"},
		{Label: "gotcha", Value: 760, Href: "/console/store?kind=gotcha"}, {Label: "a kind with quite a long name that nobody expected here", Value: 417, Href: "/console/store?kind=long"},
		{Label: "preference", Value: 3, Href: "/console/store?kind=preference"}, {Label: "none", Value: 0}}}
	context := StackData{Title: "Where the context's characters went", Unit: "chars", Parts: []Part{
		{Label: "system", Value: 18240}, {Label: "history", Value: 46120}, {Label: "tool results", Value: 22960}, {Label: "knowledge block", Value: 3840, Note: "12 items"},
		{Label: "tools", Value: 9120}, {Label: "this message", Value: 212}, {Label: "markers", Value: 48}}}
	turns := stages()
	compare := groups()
	return []sample{
		{"bars", Bars(kinds), ""},
		{"stack", Stack(context), context.Table()},
		{"shares", Shares(modes()), modes().Table()},
		{"lines", Lines(latencies(true)), latencies(true).Table()},
		{"lines-linear", Lines(recalls()), recalls().Table()},
		{"groups", Groups(compare), compare.Table()},
		{"waterfall", Waterfall(turns), turns.Table()},
		{"fusion", Fusion(retrieval(14)), retrieval(14).Table()},
		{"graph", Graph(payments()), ""},
		{"graph-list", GraphList(payments()), ""},
		{"graph-crowded", Graph(crowd(rand.New(rand.NewPCG(1, 1)), 60, 200)), ""},
		{"chain", Chain(versions()), ""},
	}
}

func stages() WaterfallData {
	return WaterfallData{Title: "Stages of the turn", Stages: []Stage{
		{Label: "read the request", Start: 0, MS: .31}, {Label: "intent", Start: .31, MS: .12}, {Label: "keyword", Start: .5, MS: 2.4}, {Label: "vector", Start: .5, MS: 6.85, Note: "embedding came from the cache"},
		{Label: "structure", Start: .52, MS: 1.1}, {Label: "fusion", Start: 7.4, MS: .22}, {Label: "ranker", Start: 7.62, MS: 3.3, Tone: Warn}, {Label: "budget", Start: 10.95, MS: .41}, {Label: "inject", Start: 11.4, MS: .08}}}
}

func modes() SharesData {
	d := SharesData{Title: "Mode of the turns", Unit: "turns", Names: []string{"hybrid", "keyword", "late"}, Tones: []Tone{"", "", Warn}, Width: time.Hour}
	for i := range 36 {
		b := Bucket{At: noon.Add(time.Duration(i) * time.Hour)}
		if i < 14 || i > 18 {
			b.Counts = []float64{float64(40 + i*7%13), float64(3 + i*5%11), float64(i * 3 % 4)}
		}
		if i == 25 || i == 26 {
			b.Counts = []float64{0, 38, 2}
		}
		d.Buckets = append(d.Buckets, b)
	}
	return d
}

func latencies(log bool) LinesData {
	d := LinesData{Title: "Time of a turn", Unit: "ms", Log: log, Series: []Series{{Name: "p50"}, {Name: "p95"}, {Name: "p99", Tone: Warn}}}
	for i := range 24 {
		d.Times = append(d.Times, noon.Add(time.Duration(i)*20*time.Minute))
		wave := math.Sin(float64(i) / 3)
		values := []float64{6 + wave, 18 + 5*wave + float64(i%5), 70 + 40*wave + float64(i*7%30)}
		if i == 11 || i == 12 {
			values = []float64{math.NaN(), math.NaN(), math.NaN()}
		}
		for k, v := range values {
			d.Series[k].Values = append(d.Series[k].Values, v)
		}
	}
	return d
}

func recalls() LinesData {
	var times []time.Time
	for i := range 5 {
		times = append(times, noon.AddDate(0, 0, i))
	}
	return LinesData{Title: "recall@10 along the days", Times: times, Series: []Series{
		{Name: "hybrid", Values: []float64{.71, .79, .84, .86, .86}}, {Name: "keyword", Values: []float64{.62, .66, .69, .7, .7}},
		{Name: "vector", Values: []float64{.55, .63, math.NaN(), .72, .73}}}}
}

func groups() GroupsData {
	d := GroupsData{Title: "Recall by mode", Max: 1, Names: []string{"hybrid", "keyword", "vector", "structure"}}
	for i, label := range []string{"recall@1", "recall@5", "recall@10", "mrr", "ndcg@10"} {
		g := Group{Label: label}
		for k := range d.Names {
			v := .5 + float64(i)*.07 - float64(k)*.06
			g.Values = append(g.Values, Interval{v, v - .04, v + .035})
		}
		d.Groups = append(d.Groups, g)
	}
	d.Groups[3].Values[3].Value = math.NaN()
	return d
}

func retrieval(n int) FusionData {
	d := FusionData{Title: "How the items were found", Legs: []string{"keyword", "vector", "structure", "pinned"}}
	r := rand.New(rand.NewPCG(7, 7))
	why := []string{"floor", "budget", "duplicate", "tier"}
	for i := range n {
		it := Fused{Label: fmt.Sprintf("Payments retry %d times before the queue gives up", i+2), Href: fmt.Sprintf("/console/claim/c%d", i), Ranks: make([]int, 4), Block: i < 5 || i == 7}
		for k := range 3 {
			if r.IntN(3) > 0 {
				it.Ranks[k] = 1 + i + r.IntN(6)*(k+1)
			}
		}
		if i == 3 {
			it.Ranks[3] = 1
		}
		if !it.Block {
			it.Cut = why[i%len(why)]
		}
		d.Items = append(d.Items, it)
	}
	return d
}

func payments() GraphData {
	d := GraphData{Title: "Around payments", Nodes: []Node{
		{ID: "pay", Label: "payments", Kind: "service", Count: 42, Root: true, Info: "3 constraints"}, {ID: "db", Label: "ledger-db", Kind: "database", Count: 17},
		{ID: "queue", Label: "settlement queue", Kind: "queue", Count: 6}, {ID: "bank", Label: "bank gateway with a long official name", Kind: "external", Count: 9},
		{ID: "shop", Label: "shop", Kind: "service", Count: 31}, {ID: "app", Label: "mobile app", Kind: "client", Count: 12}, {ID: "admin", Label: "back office", Kind: "client", Count: 3},
		{ID: "report", Label: "reporting", Kind: "service", Count: 8}, {ID: "vault", Label: "vault", Kind: "service", Count: 5}, {ID: "island", Label: "old importer", Kind: "service"}},
		Edges: []Edge{{From: "pay", To: "db", Label: "writes", Weight: 9}, {From: "pay", To: "queue", Label: "sends", Weight: 5}, {From: "queue", To: "bank", Label: "delivers", Weight: 4},
			{From: "shop", To: "pay", Label: "calls", Weight: 8}, {From: "app", To: "shop", Label: "calls", Weight: 3}, {From: "admin", To: "pay", Label: "calls", Weight: 1, Dashed: true},
			{From: "bank", To: "pay", Label: "calls back", Weight: 2}, {From: "report", To: "db", Label: "reads", Weight: 2}, {From: "db", To: "vault", Label: "keys", Weight: 2},
			{From: "bank", To: "vault", Dashed: true, Weight: 1}, {From: "app", To: "db", Weight: 1, Dashed: true, Label: "reads"}}}
	for i := range d.Nodes {
		d.Nodes[i].Href = "/console/entity/" + d.Nodes[i].ID
	}
	return d
}

// crowd returns a random graph.
func crowd(r *rand.Rand, nodes, edges int) GraphData {
	d := GraphData{Title: "A crowd"}
	for i := range nodes {
		d.Nodes = append(d.Nodes, Node{ID: fmt.Sprint(i), Label: strings.Repeat("module ", r.IntN(4)+1) + fmt.Sprint(i), Kind: []string{"file", "package", "service", ""}[r.IntN(4)],
			Href: fmt.Sprintf("/console/entity/%d", i), Count: r.IntN(40), Root: i == nodes/3})
	}
	for range edges {
		d.Edges = append(d.Edges, Edge{From: fmt.Sprint(r.IntN(nodes)), To: fmt.Sprint(r.IntN(nodes)), Label: []string{"", "calls", "imports and wraps"}[r.IntN(3)], Weight: float64(r.IntN(9)), Dashed: r.IntN(5) == 0})
	}
	return d
}

func versions() ChainData {
	return ChainData{Title: "What superseded what", Versions: []Version{
		{ID: "c", Label: "Retries are capped at five, with jitter, because the bank throttles whoever hammers it after an outage", Note: "8 Mar 2031", Current: true, Href: "/console/claim/c"},
		{ID: "a", Label: "Retries go on for ever", Note: "2 Jan 2031", Href: "/console/claim/a"}, {ID: "b", Label: "Retries are capped at three", Note: "14 Feb 2031", Href: "/console/claim/b"},
		{ID: "d", Label: "Only card payments retry", Note: "9 Mar 2031 · disputed", Href: "/console/claim/d"}, {ID: "e", Label: "Retries are counted for each merchant", Note: "1 Apr 2031", Href: "/console/claim/e"}},
		Steps: []Supersession{{"a", "b"}, {"b", "c"}, {"b", "d"}, {"d", "e"}, {"e", "d"}, {"a", "c"}}}
}

func Benchmark(b *testing.B) {
	found, mode, times, sets, staged := retrieval(maxFused), modes(), latencies(true), groups(), stages()
	medium, crowded := crowd(rand.New(rand.NewPCG(2, 2)), 25, 40), crowd(rand.New(rand.NewPCG(1, 1)), maxNodes, maxEdges)
	for _, c := range []struct {
		name string
		draw func() template.HTML
	}{
		{"shares", func() template.HTML { return Shares(mode) }},
		{"lines", func() template.HTML { return Lines(times) }},
		{"groups", func() template.HTML { return Groups(sets) }},
		{"waterfall", func() template.HTML { return Waterfall(staged) }},
		{"fusion", func() template.HTML { return Fusion(found) }},
		{"graph", func() template.HTML { return Graph(medium) }},
		{"graph-crowded", func() template.HTML { return Graph(crowded) }},
		{"graph-list", func() template.HTML { return GraphList(crowded) }},
		{"chain", func() template.HTML { return Chain(versions()) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.draw()
			}
		})
	}
}
