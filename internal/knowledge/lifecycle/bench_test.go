package lifecycle_test

import (
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/lifecycle"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/synth"
	"github.com/kenlayer/ken/store"
)

// A hundred thousand claims, of which 500 are to be archived and 100 patterns lapsed.
func BenchmarkPlan(b *testing.B) {
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
			c.CreatedAt = epoch
			switch at := done + i; {
			case at%400 == 0:
				c.Status = ken.StatusSuperseded
			case at%400 == 1:
				c.ExpiresAt = epoch
			case at%1000 == 2:
				c.Kind = ken.KindPattern
			}
			in[i].Claim = c
		}
		for _, o := range s.Import(b.Context(), in) {
			if o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	}
	later := time.Now().Add(100 * day)
	d := lifecycle.Deps{Store: s, Documents: s, Now: func() time.Time { return later }}
	b.ReportAllocs()
	for b.Loop() {
		changes, err := lifecycle.Plan(b.Context(), d, lifecycle.Default().Decay(90))
		if err != nil || len(changes) != 600 {
			b.Fatalf("%d changes, %v", len(changes), err)
		}
	}
}
