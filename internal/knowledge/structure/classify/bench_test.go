package classify_test

import (
	"fmt"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// BenchmarkBackfill files 10,000 old claims of a store on disk.
func BenchmarkBackfill(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := bolt.Open(b.Context(), b.TempDir(), bolt.Options{NoSync: true})
		if err != nil {
			b.Fatal(err)
		}
		var claims []ken.Claim
		for i := range 10_000 {
			claims = append(claims, fact(b, fmt.Sprintf("Service%d requires the ledger in run %d", i%50, i)))
		}
		write(b, s, claims...)
		b.StartTimer()
		if err := classify.New(s, classify.Options{}).CatchUp(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
