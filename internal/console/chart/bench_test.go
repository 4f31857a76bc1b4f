package chart

import (
	"html/template"
	"math/rand/v2"
	"testing"
)

func Benchmark(b *testing.B) {
	found, mode, times, sets, staged := retrieval(mostFused), modes(), latencies(true), groups(), stages()
	medium, crowded := crowd(rand.New(rand.NewPCG(2, 2)), 25, 40), crowd(rand.New(rand.NewPCG(1, 1)), mostNodes, mostEdges)
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
