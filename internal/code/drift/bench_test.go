package drift_test

import (
	"io"
	"testing"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/drift"
)

// BenchmarkCheck checks this project with a graph that exists already.
func BenchmarkCheck(b *testing.B) {
	g := graph(b, "../../..")
	m, err := drift.Parse("m.yaml", drift.Propose(g))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := drift.Check(g, m, drift.Options{})
		if err := drift.WriteText(io.Discard, &r); err != nil || len(r.Violations) > 0 {
			b.Fatal(r.Violations, err)
		}
	}
}

// BenchmarkPropose makes a proposal for this project.
func BenchmarkPropose(b *testing.B) {
	g := graph(b, "../../..")
	for b.Loop() {
		drift.Propose(g)
	}
}

// BenchmarkWhole measures all of ken drift, including reading the files.
func BenchmarkWhole(b *testing.B) {
	m, err := drift.Parse("m.yaml", drift.Propose(graph(b, "../../..")))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := codebase.Open(b.Context(), codebase.Options{Root: "../../.."})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Build(b.Context()); err != nil {
			b.Fatal(err)
		}
		drift.Check(c.View(), m, drift.Options{})
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
