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
