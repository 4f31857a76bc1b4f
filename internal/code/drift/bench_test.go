package drift_test

import (
	"io"
	"testing"

	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/drift"
)

// BenchmarkCheck checks this project, whose graph is there already.
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

// BenchmarkPropose describes this project.
func BenchmarkPropose(b *testing.B) {
	g := graph(b, "../../..")
	for b.Loop() {
		drift.Propose(g)
	}
}

// BenchmarkWhole is all that ken drift does: it reads the files, too.
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
