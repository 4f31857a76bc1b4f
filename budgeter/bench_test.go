package budgeter

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func benchmarkCandidates(n int, filler string) []Candidate {
	list := make([]Candidate, n)
	for i := range list {
		it := item(i*7919, fmt.Sprintf("Statement %d. %s", i, strings.Repeat(filler, 8)))
		it.Tier, it.Heading, it.Source = ken.Tier(i%4), "A heading", "docs/adr/0021-agent-memory.md"
		it.Constraint = i < 2
		list[i] = Candidate{Item: it, Memory: i%10 == 9}
	}
	return list
}

func BenchmarkCompose(b *testing.B) {
	for name, filler := range map[string]string{"english": "The release runs on Tuesday and is approved by the team. ", "chinese": "部署在星期二运行，由平台团队负责，回滚需要两人批准，文档见手册。"} {
		for _, n := range []int{10, 100} {
			list := benchmarkCandidates(n, filler)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if Compose(context.Background(), list, Options{}).Text == "" {
						b.Fatal("no block")
					}
				}
			})
		}
	}
}

// BenchmarkComposeMemory composes a usual turn with a full memory: 12 items of
// knowledge, 200 hot claims of which about forty fit, two playbooks and three
// episodes. Each is loaded when it is needed.
func BenchmarkComposeMemory(b *testing.B) {
	list := benchmarkCandidates(12, "The release runs on Tuesday and is approved by the team. ")
	add := func(n int, kind ken.Kind, text string) {
		for i := range n {
			it := item((len(list)+1)*7919, "")
			it.Kind, it.Source = kind, ""
			c := ken.Claim{Kind: kind, Heading: fmt.Sprintf("Heading %d", i), Text: fmt.Sprintf("Number %d. %s", i, text), Source: "session", Session: "s-1"}
			list = append(list, Candidate{Item: it, Memory: true, Load: func(context.Context) (ken.Claim, error) { return c, nil }})
		}
	}
	for i := range list {
		list[i].Memory = false
	}
	add(200, ken.KindHot, strings.Repeat("Reply in plain words. ", 6))
	add(2, ken.KindPlaybook, strings.Repeat("Then do the next thing, with care.\n", 70))
	add(3, ken.KindEpisode, strings.Repeat("Decided: to look at the ledger again before long, and to move it.\n", 8))
	b.ReportAllocs()
	for b.Loop() {
		if blk := Compose(context.Background(), list, Options{}); len(blk.Items) < 30 {
			b.Fatalf("%d items", len(blk.Items))
		}
	}
}
