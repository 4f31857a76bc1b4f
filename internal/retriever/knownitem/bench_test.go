package knownitem_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
)

// What one claim of a sampled collection costs.
func BenchmarkGenerate(b *testing.B) {
	claims := make([]ken.Claim, 5000)
	for i := range claims {
		claims[i] = fact(fmt.Sprint(i), "", strings.Repeat(fmt.Sprintf("Word%d meets thing%d because it waits. ", i%700, i%311), 8))
	}
	for b.Loop() {
		generate(b, claims, knownitem.Options{})
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(claims)), "µs/claim")
}
