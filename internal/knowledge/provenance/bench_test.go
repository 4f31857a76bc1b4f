package provenance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// BenchmarkOf asks a store of 100,000 claims what stands behind a file that 40 are
// about, a test that 10 rest on, a name that 20,000 carry, and nothing.
func BenchmarkOf(b *testing.B) {
	s, err := bolt.Open(b.Context(), b.TempDir(), bolt.Options{NoSync: true, Now: func() time.Time { return epoch }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	in := make([]store.Incoming, 0, 100_000)
	for i := range cap(in) {
		c := ken.Claim{Text: fmt.Sprintf("The handler %d retries what failed, and gives up after %d attempts.", i, i%7), Kind: ken.KindFinding,
			Entities: []string{fmt.Sprintf("pay/file%d.go", i%2500), fmt.Sprint("module ", i%5)}, CreatedAt: epoch.Add(time.Duration(i) * time.Second),
			Evidence: []ken.Evidence{ken.FromTestResult(fmt.Sprint("TestRetry", i%10_000), ""), ken.FromExitCode(fmt.Sprintf("go test ./pay/p%d", i%500), 0)}}
		in = append(in, store.Incoming{Claim: c})
	}
	for _, o := range s.Import(b.Context(), in) {
		if o.Err != nil {
			b.Fatal(o.Err)
		}
	}
	for name, want := range map[string]int{"pay/file7.go": 40, "TestRetry77": 10, "module 3": 20_000, "nobody": 0} {
		b.Run(fmt.Sprint(want), func(b *testing.B) {
			for b.Loop() {
				v, err := provenance.Of(b.Context(), s, provenance.Query{Target: name}, provenance.Options{Now: func() time.Time { return epoch }, DecayDays: 90})
				if err != nil || v.Total != want {
					b.Fatal(v.Total, err)
				}
			}
		})
	}
}
