package attention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// A hundred thousand claims, of which 100 are unsure, 50 disputed and 200
// superseded.
func BenchmarkList(b *testing.B) {
	s, err := bolt.Open(b.Context(), b.TempDir(), bolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	src := synth.New(1)
	const n = 100_000
	for done := 0; done < n; done += 5000 {
		in := make([]store.Incoming, 5000)
		for i := range in {
			c := src.Claim()
			c.Confidence, c.CreatedAt = 0.9, epoch
			switch at := done + i; {
			case at%1000 == 0:
				c.Confidence = 0.2
			case at%2000 == 1:
				c.Status = ken.StatusDisputed
			case at%500 == 2:
				c.Status, c.SupersededBy = ken.StatusSuperseded, fmt.Sprintf("0198a000-0000-7000-8000-%012x", at)
			}
			in[i].Claim = c
		}
		for _, o := range s.Import(b.Context(), in) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		items, err := attention.List(b.Context(), s, s.Shelf(), attention.Options{Now: epoch.Add(30 * 24 * time.Hour)})
		if err != nil || len(items) != 100 {
			b.Fatalf("%d items, %v", len(items), err)
		}
	}
}
