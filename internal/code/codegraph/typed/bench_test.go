package typed_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/code/codegraph/typed"
)

// This repository, with the go command's cache.
func BenchmarkCheck(b *testing.B) {
	needGo(b)
	b.ReportAllocs()
	for b.Loop() {
		_, r, err := typed.Check(b.Context(), "../../../..", typed.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Lines), "lines")
	}
}

// One package, as after an edit.
func BenchmarkCheckOnePackage(b *testing.B) {
	needGo(b)
	for b.Loop() {
		if _, _, err := typed.Check(b.Context(), "../../../..", typed.Options{Packages: []string{"github.com/kenlayer/ken/internal/code/codegraph"}}); err != nil {
			b.Fatal(err)
		}
	}
}
