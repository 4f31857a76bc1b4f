package chart_test

import (
	"fmt"

	"github.com/kenlayer/ken/internal/console/chart"
)

func Example() {
	turn := chart.WaterfallData{Stages: []chart.Stage{{Label: "keyword", Start: 0.5, MS: 2.4}, {Label: "<ranker>", Start: 2.9, MS: 1.1}}}
	_ = chart.Waterfall(turn) // for a page that loads chart.CSS
	fmt.Println(turn.Table()) // for a <details> beneath
	// Output:
	// <div class="chart-data"><table><thead><tr><th scope="col">stage</th><th scope="col" class="num">start (ms)</th><th scope="col" class="num">took (ms)</th></tr></thead><tbody><tr><th scope="row">keyword</th><td class="num">0.5</td><td class="num">2.4</td></tr><tr><th scope="row">&lt;ranker&gt;</th><td class="num">2.9</td><td class="num">1.1</td></tr></tbody></table></div>
}

func ExampleGraphList() {
	fmt.Println(chart.GraphList(chart.GraphData{
		Nodes: []chart.Node{{ID: "pay", Label: "payments", Href: "/console/entity/pay", Root: true}, {ID: "db", Label: "ledger-db", Kind: "database"}},
		Edges: []chart.Edge{{From: "pay", To: "db", Label: "writes", Dashed: true}},
	}))
	// Output:
	// <div class="chart-list"><p><a href="/console/entity/pay">payments</a></p><ul><li>depends on<ul><li><span>ledger-db</span> <small>database · writes · a guess</small></li></ul></li></ul></div>
}
